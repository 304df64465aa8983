"""What a job asks of Slurm, and which readings of OpenPAI it asks for: its own words under `extras.slurm`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping


WARNED_FROM = timedelta(minutes=5)
"""Jobs of this time limit or less get no warning signal: it comes up to a minute early. Source: sbatch(1), --signal."""


def is_plain(text: str) -> bool:
    """Tell whether a text can stand in an `#SBATCH` line as it is.

    sbatch splits the line at blanks, knows quotes and backslashes, and stops at a `#`. A backquote means nothing to it,
    and something to the shells that see such an option later. Source: sbatch(1), and `src/sbatch/opt.c: _get_argument`
    of Slurm as observed on 22.05.
    """
    return text.isprintable() and not any(char in " \"'`\\#" for char in text)


class PassThroughOption(Struct, frozen=True, kw_only=True):
    """Describe an option of sbatch that `extras.slurm` has as a key of the same name, for the job and for each role.

    `note` is what an editor shows. Where the job says nothing, the site profile may have the option for the job's
    priority class, node type or virtual cluster: `profile_fields` are these, as `provenance.yaml` calls them, and
    `rule` is what `paislurm explain` says of that.
    """

    name: str
    note: str
    profile_fields: tuple[str, ...] = ()
    rule: str = ""


_OF_VIRTUAL_CLUSTER = "the job's own word, else what the site profile has for the virtual cluster"
_OF_PRIORITY = "the job's own word, else what the site profile has for the priority class, else for the virtual cluster"
_OF_NODE_TYPE = "the job's own word, else what the site profile has for the node type; and for InfiniBand"
_ROWS = (
    PassThroughOption(
        name="partition",
        note="The partition, before that of the virtual cluster (sbatch --partition).",
        profile_fields=("virtual-cluster",),
        rule=_OF_VIRTUAL_CLUSTER,
    ),
    PassThroughOption(
        name="account",
        note="The account that is charged (sbatch --account).",
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
"""These options in the order of a script. How their values are checked stands in `protocol/extras_slurm.py`."""


class Mpi(Struct, frozen=True, kw_only=True):
    """Ask that srun itself starts the commands, as ranks of an MPI world. Source: this project's docs, native launch.

    `plugin` is srun's, "" for the site's first. `ranks` are those of one instance, 0 where nothing is said. `roles`
    are one world together, of a job's wish alone; None are all.
    """

    plugin: str = ""
    ranks: int = 0
    roles: tuple[str, ...] | None = None


class RoleSlurmOptions(Struct, frozen=True, kw_only=True):
    """Hold a role's (or the job's) own words to Slurm. Source: this project's docs, `extras.slurm`."""

    time: timedelta | None = None
    pass_through: Mapping[str, str] = field(default_factory=dict)
    """Values of the options in `PASS_THROUGH`, by name."""
    slots: int | None = None
    mpi: Mpi | None = None
    options: tuple[str, ...] = ()
    """Raw sbatch options, each `--name` or `--name=value`."""
    workdir: str | None = None
    """Where the commands start: `task`, `submit`, or an absolute path."""


class SlurmOptions(Struct, frozen=True, kw_only=True):
    """Hold everything under `extras.slurm` of a job file."""

    job: RoleSlurmOptions = field(default_factory=RoleSlurmOptions)
    layout: Literal["het", "shared"] | None = None
    on_timeout: Literal["fail", "retry"] = "fail"
    export_env: tuple[str, ...] | None = None
    """The variables of the submitting shell that tasks get, beginnings with a `*`; None for all."""
    result: str = ""
    """A regular expression that finds the result of the job in what its tasks print; "" for none."""


class JobCompatOptions(Struct, frozen=True, kw_only=True):
    """Hold the switches between readings of OpenPAI that outlive validation.

    `job_name` full makes `PAI_JOB_NAME` `user~name`; `exit_patterns` original searches logs for the
    expressions as OpenPAI wrote them, slips included; `gpu_type` any runs a job that names a type of nodes or GPUs
    which the site does not have on whatever nodes there are. Source: this project's docs, `extras.slurm.compat`.
    """

    job_name: Literal["plain", "full"] = "plain"
    exit_patterns: Literal["fixed", "original"] = "fixed"
    gpu_type: Literal["error", "any"] = "error"


class CompatOptions(Struct, frozen=True, kw_only=True):
    """Hold all switches between readings of OpenPAI: a site may set them, and a job overrules it.

    `min_succeeded` is what a role waits for that states no `minSucceededInstances`: `all` is -1, `instances`
    is its number of instances. `unresolved` keep leaves a reference to nothing in the command. Source: this
    project's docs, `extras.slurm.compat`.
    """

    min_succeeded: Literal["all", "instances"] = "all"
    job_name: Literal["plain", "full"] = "plain"
    nounset: bool = True
    unresolved: Literal["error", "keep"] = "error"
    exit_patterns: Literal["fixed", "original"] = "fixed"
    gpu_type: Literal["error", "any"] = "error"

    @property
    def for_plan(self) -> JobCompatOptions:
        """The switches that outlive validation."""
        return JobCompatOptions(job_name=self.job_name, exit_patterns=self.exit_patterns, gpu_type=self.gpu_type)
