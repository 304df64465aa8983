"""The settings of a job under `extras.slurm`: options of Slurm, and compat options."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping


WARNED_FROM = timedelta(minutes=5)
"""Shorter jobs get no warning signal: Slurm sends it up to a minute early. Source: sbatch(1), --signal."""


def is_plain(text: str) -> bool:
    """Whether a text needs no quotes in an `#SBATCH` line.

    sbatch splits the line at blanks, interprets quotes and backslashes, and stops at a `#`. It ignores a backquote, but
    shells that later see the option do not. Source: sbatch(1), and `src/sbatch/opt.c: _get_argument`
    of Slurm as observed on 22.05.
    """
    return text.isprintable() and not any(char in " \"'`\\#" for char in text)


OnMismatch = Literal["warn", "error"]
"""What a task does that did not get what its binding plans."""


OnStall = Literal["report", "end"]
"""What follows when no task of a group moves: a report, or the end of the attempt, too."""


class Progress(Struct, frozen=True, kw_only=True):
    """The stall guard of a role or a job. Source: this project's docs, stalled jobs.

    The sign of progress is a change of files, of the output of a command, or, without both, output of the task.
    `within` is 0 if there is no guard.
    """

    within: timedelta
    """How long tasks may be without progress."""
    warm_up: timedelta
    """The time permitted in addition after the start of the commands."""
    action: OnStall
    """What follows: `report`, or `end`, which also ends the attempt."""
    watched_file: str = ""
    """A path or pattern of files whose size or time changes with progress."""
    watched_command: str = ""
    """A command whose output changes with progress."""


NodeCheck = Literal["gpu", "infiniband", "disk", "clock"]
"""A check of a node before tasks start."""
NODE_CHECKS: tuple[NodeCheck, ...] = get_args(NodeCheck)
"""The checks, in the order in which a node runs them."""


class Preflight(Struct, frozen=True, kw_only=True):
    """Checks of nodes before tasks start; None for what the site profile decides."""

    is_on: bool = True
    check: tuple[NodeCheck, ...] | None = None
    command: str | None = None
    pairs: str | None = None
    timeout_s: int | None = None


class PassThroughOption(Struct, frozen=True, kw_only=True):
    """An option of sbatch that `extras.slurm` has as a key of the same name, for the job and for each role.

    `note` is the text for editors. If the job does not set the option, the site profile may, for the job's
    priority class, node type or virtual cluster: `profile_fields` names these as `provenance.yaml` does, and
    `rule` is the text of `paislurm explain`.
    """

    name: str
    note: str
    profile_fields: tuple[str, ...] = ()
    rule: str = ""


_OF_VIRTUAL_CLUSTER = "the job file, else the virtual cluster in the site profile"
_OF_PRIORITY = "the job file, else the priority class in the site profile, else its virtual cluster"
_OF_NODE_TYPE = "the job file, else the node type in the site profile; plus InfiniBand's"
_ROWS = (
    PassThroughOption(
        name="partition",
        note="The partition; overrides that of the virtual cluster (sbatch --partition).",
        profile_fields=("virtual-cluster",),
        rule=_OF_VIRTUAL_CLUSTER,
    ),
    PassThroughOption(
        name="account",
        note="The account to charge (sbatch --account).",
        profile_fields=("virtual-cluster",),
        rule=_OF_VIRTUAL_CLUSTER,
    ),
    PassThroughOption(
        name="qos",
        note="The quality of service (sbatch --qos).",
        profile_fields=("priority", "virtual-cluster"),
        rule=_OF_PRIORITY,
    ),
    PassThroughOption(
        name="reservation",
        note="The reservation (sbatch --reservation).",
        profile_fields=("virtual-cluster",),
        rule=_OF_VIRTUAL_CLUSTER,
    ),
    PassThroughOption(
        name="constraint",
        note="Features that the nodes must have (sbatch --constraint).",
        profile_fields=("node-type", "infiniband"),
        rule=_OF_NODE_TYPE,
    ),
    PassThroughOption(
        name="nodelist", note="Nodes that must be used (sbatch --nodelist).", profile_fields=("node-type",)
    ),
    PassThroughOption(name="exclude", note="Nodes that are not used (sbatch --exclude)."),
)
PASS_THROUGH = {row.name: row for row in _ROWS}
"""The options in the order of a script. `protocol/extras_slurm.py` checks their values."""


class Mpi(Struct, frozen=True, kw_only=True):
    """A native launch: srun starts the commands as ranks of an MPI world. Source: this project's docs, native launch.

    `plugin` is srun's MPI plugin, "" for the site's first. `ranks` is the number per instance, 0 if unset. `roles`
    share one world; None means all roles. Only the job's setting has `roles`.
    """

    plugin: str = ""
    ranks: int = 0
    roles: tuple[str, ...] | None = None


class More(Struct, frozen=True, kw_only=True):
    """How a request grows between two attempts: by a factor in percent, up to `most`, so many `times`."""

    percent: int
    most: int | None = None
    times: int = 1

    def steps(self, first: int) -> list[int]:
        """Return the requests of the first attempt and of the next ones, each greater than the last.

        >>> More(percent=150, most=2000, times=3).steps(1000)
        [1000, 1500, 2000]
        """
        found = [first] if first > 0 else []
        for _ in range(self.times if found else 0):
            grown = -(-found[-1] * self.percent // 100)
            grown = grown if self.most is None else min(grown, self.most)
            if grown > found[-1]:
                found.append(grown)
        return found


class RoleSlurmOptions(Struct, frozen=True, kw_only=True):
    """The settings of `extras.slurm` that a role or the job can have. Source: this project's docs, `extras.slurm`."""

    time: timedelta | None = None
    pass_through: Mapping[str, str] = field(default_factory=dict)
    """Values of the options in `PASS_THROUGH`, by name."""
    slots: int | None = None
    tasks_per_node: int | None = None
    """The most tasks of a role on a node, None for as many as fit."""
    mpi: Mpi | None = None
    binding: tuple[tuple[str, str], ...] | None = None
    """Options of srun that bind tasks, by name: none for `auto`."""
    on_mismatch: OnMismatch | None = None
    """What a task does that did not get what the binding plans; None without a binding."""
    options: tuple[str, ...] = ()
    """Raw sbatch options, each `--name` or `--name=value`."""
    srun: tuple[str, ...] = ()
    """Raw options of the srun that starts the tasks, each `--name` or `--name=value`."""
    workdir: str | None = None
    """The working directory of the commands: `task`, `submit`, or an absolute path."""
    progress: Progress | None = None
    """The stall guard; None if not set."""
    preflight: Preflight | None = None
    """Checks of the nodes before tasks start."""
    more_memory: More | None = None
    """The growth of the memory of a task in MiB, after a lack of memory; None if not set."""


class SlurmOptions(Struct, frozen=True, kw_only=True):
    """All settings under `extras.slurm` of a job file."""

    job: RoleSlurmOptions = field(default_factory=RoleSlurmOptions)
    layout: Literal["het", "shared"] | None = None
    spare: int = 0
    """How many nodes get no tasks until another node is lost."""
    requeue: Literal["expedite"] | None = None
    """Whether Slurm restarts the job after the loss of a node, before jobs that wait."""
    on_timeout: Literal["fail", "retry"] = "fail"
    export_env: tuple[str, ...] | None = None
    """The variables of the submitting shell to export to tasks; `*` ends a prefix. None exports all."""
    result: str = ""
    """A regular expression that finds the result of the job in the output of its tasks; "" for none."""
    checkpoints: str = ""
    """The pattern of the job's checkpoints, an absolute path or one from `./` on; "" for none."""
    progress_pattern: str = ""
    """A regular expression that finds the progress in the output of the tasks; "" for none."""
    avoid_nodes: tuple[int, int] | None = None
    """For how many seconds bad nodes are avoided, and how many; None for the site's choice."""
    more_time: More | None = None
    """The growth of the time limit in seconds, after it was reached; None for the site's choice."""


class CompatOptions(Struct, frozen=True, kw_only=True):
    """All compat options. A site may set them; a job overrides the site.

    `min_succeeded` is the threshold of a role without `minSucceededInstances`: `all` is -1, `instances`
    is its number of instances. `job_name: full` makes `PAI_JOB_NAME` `user~name`. `unresolved: keep` leaves undefined
    references in the commands. `exit_patterns: original` searches logs for OpenPAI's own expressions, mistakes
    included; `fixed` also for corrected ones. `background: wait` lets a task of protocol v2 run until the processes
    end that its commands leave in the background. `gpu_type: any` runs a job on any nodes if the site lacks the node
    or GPU type that it names. Source: this project's docs, `extras.slurm.compat`.
    """

    min_succeeded: Literal["all", "instances"] = "all"
    job_name: Literal["plain", "full"] = "plain"
    nounset: bool = True
    unresolved: Literal["error", "keep"] = "error"
    exit_patterns: Literal["fixed", "original"] = "original"
    background: Literal["wait", "stop"] = "wait"
    gpu_type: Literal["error", "any"] = "error"
