"""What a job asks of Slurm, and which readings of OpenPAI it asks for: its own words under `extras.slurm`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Mpi:
    """Ask that srun itself starts the commands, as ranks of an MPI world. Source: this project's docs, native launch.

    `plugin` is srun's, "" for the site's first. `ranks` are those of one instance, 0 where nothing is said. `roles`
    are one world together, of a job's wish alone; None are all.
    """

    plugin: str = ""
    ranks: int = 0
    roles: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleSlurmOptions:
    """Hold a role's (or the job's) own words to Slurm. Source: this project's docs, `extras.slurm`."""

    time: timedelta | None = None
    account: str | None = None
    qos: str | None = None
    partition: str | None = None
    reservation: str | None = None
    constraint: str | None = None
    exclude: str | None = None
    nodelist: str | None = None
    slots: int | None = None
    mpi: Mpi | None = None
    options: tuple[str, ...] = ()
    """Raw sbatch options, each `--name` or `--name=value`."""
    workdir: str | None = None
    """Where the commands start: `task`, `submit`, or an absolute path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmOptions:
    """Hold everything under `extras.slurm` of a job file."""

    job: RoleSlurmOptions = field(default_factory=RoleSlurmOptions)
    layout: Literal["het", "shared"] | None = None
    on_timeout: Literal["fail", "retry"] = "fail"
    export_env: tuple[str, ...] | None = None
    """The variables of the submitting shell that tasks get, beginnings with a `*`; None for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCompatOptions:
    """Hold the switches between readings of OpenPAI that outlive validation.

    `job_name` full makes `PAI_JOB_NAME` `user~name`; `exit_patterns` original searches logs for the
    expressions as OpenPAI wrote them, slips included; `gpu_type` any runs a job that names a type of nodes or GPUs
    which the site does not have on whatever nodes there are. Source: this project's docs, `extras.slurm.compat`.
    """

    job_name: Literal["plain", "full"] = "plain"
    exit_patterns: Literal["fixed", "original"] = "fixed"
    gpu_type: Literal["error", "any"] = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatOptions:
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
