"""Run scripts with Slurm, and query pyslurm instead of Slurm's programs where it suffices."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from paislurm.translator.errors import BackendError

from ..base import JobId
from ..hostlist import expand
from ..runner import environment_of_process
from ..slurm.backend import SlurmBackend, one_component
from ..slurm.commands import is_federated
from ..slurm.output import Row, is_out_of_order, text
from ..slurm.states import normalize, observed
from .process import PYTHON, UnusableError, unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..base import Observation
    from ..runner import CommandRunner, Environment
    from .process import Process

T = TypeVar("T")

UNSUPPORTED = "PAISLURM_PYSLURM_UNSUPPORTED"
"""If set to 1, accept a pyslurm made for another version of Slurm, at the user's risk."""


class Installed(Struct, frozen=True):
    """Hold the installed version of pyslurm, and the configuration that it finds; "" for none."""

    pyslurm: str
    configuration: str


class Component(Struct, frozen=True, kw_only=True):
    """Hold a component of a job in the queue or the accounts; `by` is the uid of the user who cancelled it."""

    leader: int
    offset: int | None
    state: str
    nodes: str | None
    submitted: int | None
    started: int | None
    ended: int | None
    reason: str | None = None
    status: int | None = None
    signal: int | None = None
    by: int | None = None
    name: str | None = None
    comment: str | None = None

    def row(self) -> Row:
        """Return the component as a row of Slurm's programs, with the cancelling user in the raw state."""
        return Row(
            leader=JobId(str(self.leader)),
            offset=self.offset,
            state=normalize(self.state),
            raw_state=self.state if self.by is None else f"{self.state} by {self.by}",
            status=self.status,
            signal=self.signal,
            reason=text(self.reason or ""),
            nodes=text(self.nodes or ""),
            submitted=self.submitted,
            started=self.started,
            ended=self.ended,
            name=self.name or "",
            comment=self.comment or "",
        )


class Node(Struct, frozen=True):
    """Hold a node's state with all its flags (`MIXED+NOT_RESPONDING`), and the reason given."""

    name: str
    state: str
    reason: str | None


class PyslurmBackend(SlurmBackend):
    """Observe and cancel by pyslurm; submit, find and change by Slurm's programs.

    If pyslurm is unusable, `say` reports this once and Slurm's programs take over: jobs submitted with pyslurm stay
    readable. The programs also supply exit codes from which pyslurm loses 128.
    """

    name = "pyslurm"

    def __init__(
        self,
        runner: CommandRunner,
        process: Process,
        components: Callable[[JobId], int] = one_component,
        say: Callable[[str], None] = lambda _: None,
        environment: Environment = environment_of_process,
    ) -> None:
        super().__init__(runner, components, environment)
        self._process = process
        self._say = say
        self._is_checked = False
        self._is_unusable = False

    def check(self) -> None:
        """Raise UnusableError unless pyslurm is installed, matches this Slurm, and finds a configuration."""
        if self._is_checked:
            return
        found = self._process.call("begin", Installed)
        if not found.configuration:
            named = self._environment().get("SLURM_CONF")
            problem = f"$SLURM_CONF is {named}, which does not exist" if named else "no slurm.conf was found"
            hint = "set SLURM_CONF to the slurm.conf of the cluster, or run this on a login node"
            raise unusable(problem, hint)
        version = self.version().strip()
        slurm = _release(version)
        if not found.pyslurm:
            message = f"it is not installed for {self._process.python}"
            hint = f"install {_wanted(slurm)}, or set {PYTHON}: see docs/how-to/cluster/pyslurm.md"
            raise unusable(message, hint)
        if _release(found.pyslurm) != slurm and self._environment().get(UNSUPPORTED) != "1":
            message = f"its version {found.pyslurm} does not match {version}"
            raise unusable(message, f"install {_wanted(slurm)}: see docs/how-to/cluster/pyslurm.md")
        self._is_checked = True

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return the observations of jobs; only the programs know jobs of other clusters in a federation."""
        if not ids:
            return {}
        programs = partial(super().observe, ids)
        if any(is_federated(job_id) for job_id in ids):
            return programs()
        ask = partial(observed, ids, self._queue_rows, self._account_rows, self._components, self.unaccounted)
        return self._with_fallback(ask, programs)

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Return the nodes that are down, drained, failing or not responding, each with Slurm's reason."""
        return self._with_fallback(partial(self._nodes_out_of_order, nodes), partial(super().unavailable_nodes, nodes))

    def cancel(self, *job_ids: JobId) -> None:
        """Cancel jobs with all their components, those of other clusters by the programs. Ignore ended jobs."""
        far = [job_id for job_id in job_ids if is_federated(job_id)]
        if far:
            super().cancel(*far)
        for job_id in job_ids:
            if job_id not in far:
                ask = partial(self._ask, "cancel", type(None), job_id=int(job_id))
                self._with_fallback(ask, partial(super().cancel, job_id))

    def close(self) -> None:
        """End the process that imports pyslurm."""
        self._process.close()

    def _with_fallback(self, ask: Callable[[], T], instead: Callable[[], T]) -> T:
        """Return the answer of pyslurm, or of the programs if pyslurm is unusable."""
        if not self._is_unusable:
            try:
                return ask()
            except UnusableError as error:
                self._is_unusable = True
                self.close()
                self._say(f"{error.diagnostics[0].message}; using Slurm's programs instead")
        return instead()

    def _ask(self, name: str, kind: type[T], **arguments: object) -> T:
        """Return the answer to a call, after a check that pyslurm matches this Slurm."""
        self.check()
        return self._process.call(name, kind, **arguments)

    def _queue_rows(self, ids: Sequence[JobId]) -> list[Row]:
        return [each.row() for each in self._ask("queue", list[Component], ids=[int(job_id) for job_id in ids])]

    def _account_rows(self, ids: Sequence[JobId], must: bool) -> list[Row] | None:
        """Return the accounting rows of jobs. If the accounts do not answer, sacct tells whether the site keeps any."""
        try:
            found = self._ask("accounts", list[Component], ids=[int(job_id) for job_id in ids])
        except UnusableError:
            raise
        except BackendError:
            return self.accounts(ids, must)
        return [self._with_true_exit(each.row()) for each in found]

    def _with_true_exit(self, row: Row) -> Row:
        """Return a row with the controller's exit status, None if the controller has forgotten the job."""
        if row.offset or not _is_doubtful(row):
            return row
        status, signal = self.exit_of(row.leader)
        return replace(row, status=status, signal=signal)

    def _nodes_out_of_order(self, nodes: str) -> dict[str, str]:
        try:
            names = expand(nodes)
        except ValueError:
            return {}
        found = sorted(self._ask("nodes", list[Node], names=names), key=lambda node: node.name)
        return {node.name: node.reason or "" for node in found if is_out_of_order(node.state.split("+"))}


def _is_doubtful(row: Row) -> bool:
    """Return whether a row's exit status may lack 128: pyslurm reports 137 as 9, and 128 as 0.

    If Slurm itself ended the job, or the job did not fail, a status of 0 is correct.
    """
    return row.status is not None and not row.signal and (row.state == "FAILED" or row.status != 0)


def _release(text: str) -> tuple[int, int] | None:
    """Return the first two numbers of a version, which must match between pyslurm and Slurm."""
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def _wanted(release: tuple[int, int] | None) -> str:
    return f"'pyslurm=={release[0]}.{release[1]}.*'" if release else "the pyslurm of Slurm's version"
