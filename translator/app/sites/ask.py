"""Query Slurm about the cluster, in seven calls, and inspect this machine."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from paislurm.backends.registry import SSH
from paislurm.backends.slurm import commands
from paislurm.backends.slurm.refusals import failure, is_unanswered

from ...errors import BackendError, RejectedError
from ...shipped import shipped_text
from ...site.containers import PROGRAMS
from ...site.detection.answers import Answers
from ...site.detection.config import slurm_config
from ...site.detection.detect import detect
from ...site.detection.node_shapes import nodes
from ...site.detection.probe import SYSFS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paislurm.backends.runner import CommandRunner

    from ...site.detection.answers import Detection
    from ..session import Session


SECONDS = 60.0
RESOLVE_SECONDS = 10.0
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


class Machine(Struct, frozen=True, kw_only=True):
    """The container runtimes of a machine, the content of its file of ephemeral ports, and a folder for the probe.

    Nodes may share that folder: it is paislurm's home folder or its nearest existing parent.
    """

    runtimes: tuple[str, ...] = ()
    ephemeral_ports: str = ""
    home: Path = Path("/tmp")  # noqa: S108 - the probe checks it


def this_machine(session: Session) -> Machine:
    """Return the properties of this machine."""
    try:
        ports = _EPHEMERAL.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        ports = ""
    runtimes = tuple(name for program, name in PROGRAMS.items() if session.which(program))
    home = Path(session.expanded(session.setting("PAISLURM_HOME") or "~/.paislurm"))
    existing = next(path for path in (home, *home.parents) if path.is_dir())
    return Machine(runtimes=runtimes, ephemeral_ports=ports, home=existing)


def ask(
    slurm: CommandRunner, here: CommandRunner, machine: Machine, user: str, probe: ProbeOptions | None = None
) -> Answers:
    """Return the answers to all queries, with the messages of refused ones.

    `slurm` runs programs of Slurm, `here` other ones. With `probe`, a job inspects a node. Raises BackendError if the
    controller does not answer.
    """
    queries = _Queries(slurm)
    config = queries.output(commands.scontrol_show("config"))
    partitions = queries.optional("partitions", commands.scontrol_show("partition"), RejectedError)
    all_nodes = queries.optional("nodes", commands.scontrol_show("node"), RejectedError)
    mpi = queries.optional("mpi", commands.srun_mpi_list(), BackendError)
    known = slurm_config(config)
    reservations = queries.optional("reservations", commands.scontrol_show("reservation"), RejectedError)
    accounts = qos = ""
    if known.has_accounting:
        query = commands.sacctmgr_accounts(user, known.name)
        accounts = queries.optional("accounts", query, BackendError)
        qos = queries.optional("qos", commands.sacctmgr_qos(), BackendError)
    found = nodes(all_nodes)
    probe_output = ""
    if probe is not None:
        probe_output, reason = probe_node(slurm, probe, machine.home)
        queries.refused |= {"probe": reason} if reason else {}
    return Answers(
        config=config,
        user=user,
        partitions=partitions,
        nodes=all_nodes,
        mpi=mpi,
        accounts=accounts,
        qos=qos,
        reservations=reservations,
        probe=probe_output,
        sysfs=probe.sysfs if probe else SYSFS,
        refused=queries.refused,
        ephemeral_ports=machine.ephemeral_ports,
        runtimes=machine.runtimes,
        node_resolves=_resolves(here, found[0].name) if found else None,
    )


def detect_at(session: Session, host: str) -> Detection:
    """Return the site that Slurm reports at a login node. Raises BackendError if it does not answer."""
    runner = session.slurm_runner(f"{SSH}{host}")
    machine, user = machine_of(runner)
    found = detect(ask(runner, runner, machine, user))
    return replace(found, site=found.site.model_copy(update={"host": host}))


def machine_of(runner: CommandRunner) -> tuple[Machine, str]:
    """Return the machine on which a runner runs programs, and the user's name there."""
    words = " ".join(PROGRAMS)
    name = "id -un 2>/dev/null || id -u"
    script = f'{name}; cat {_EPHEMERAL} 2>/dev/null || echo; for each in {words}; do type -P "$each"; done; true'
    argv = ["bash", "-c", script]
    done = runner.run(argv, timeout=SECONDS)
    lines = done.stdout.splitlines()
    if done.status or len(lines) < 2:
        raise failure(argv[:1], done)
    user, ports, *found = lines
    installed = {path.rpartition("/")[2] for path in found}
    runtimes = tuple(name for program, name in PROGRAMS.items() if program in installed)
    return Machine(runtimes=runtimes, ephemeral_ports=ports.strip()), user


def detect_from_here(session: Session, probe: ProbeOptions | None = None) -> Detection:
    """Return the site that Slurm reports here. Raises BackendError if the controller does not answer."""
    return detect(ask(session.slurm_runner(), session.runner, this_machine(session), session.user, probe))


class _Queries:
    """Run programs of Slurm, and keep the messages of refused queries."""

    def __init__(self, runner: CommandRunner) -> None:
        self._runner = runner
        self.refused: dict[str, str] = {}

    def output(self, argv: Sequence[str]) -> str:
        """Return the output of a program, or its standard error: srun before 22.05 lists its plugins there."""
        done = self._runner.run(argv, timeout=SECONDS)
        if is_unanswered(done):
            raise failure(argv, done)
        return done.stdout if done.stdout.strip() else done.stderr

    def optional(self, name: str, argv: Sequence[str], tolerated: type[BackendError]) -> str:
        """Return the output of a program, or record a tolerated error and return ""."""
        try:
            return self.output(argv)
        except tolerated as error:
            self.refused[name] = error.diagnostics[0].message
            return ""


def _resolves(runner: CommandRunner, node: str) -> bool:
    """Return whether this machine resolves the name of a node, as scripts do on the batch node."""
    try:
        return runner.run(["getent", "ahosts", node], timeout=RESOLVE_SECONDS).status == 0
    except BackendError:
        return False


WAIT_SECONDS = 120
"""How long the job may wait for a node."""
RUN_SECONDS = 60
_SCRIPT = "templates/probe.sh"


class ProbeOptions(Struct, frozen=True, kw_only=True):
    """The partition and account of the probe; "" for Slurm's defaults."""

    partition: str = ""
    account: str = ""
    sysfs: str = SYSFS


def probe_node(runner: CommandRunner, options: ProbeOptions, home: Path) -> tuple[str, str]:
    """Return the output of the probe, and the reason of its failure; one of them is ""."""
    with ExitStack() as stack:
        files = [_temporary_file(stack, folder) for folder in (home, Path("/tmp"))]  # noqa: S108 - the probe checks it
        argv = commands.srun_probe(
            shipped_text(_SCRIPT),
            (options.sysfs, *files, *PROGRAMS),
            wait=WAIT_SECONDS,
            partition=options.partition,
            account=options.account,
        )
        try:
            done = runner.run(argv, timeout=WAIT_SECONDS + RUN_SECONDS)
            if done.status:
                raise failure(argv, done)
        except BackendError as error:
            return "", error.diagnostics[0].message
    return done.stdout, ""


def _temporary_file(stack: ExitStack, folder: Path) -> str:
    """Return the name of a temporary file in a folder that nodes may share; "" if it cannot be created."""
    try:
        return stack.enter_context(tempfile.NamedTemporaryFile(dir=folder, prefix=".paislurm-probe-")).name
    except OSError:
        return ""
