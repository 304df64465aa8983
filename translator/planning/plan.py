"""The plan: what will be asked of Slurm and what the script will do, decided and printable. Memory in MiB."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from msgspec import Struct

from ..errors import Diagnostic
from ..job import RESTART_ALWAYS, Command, Completion, Image, Lines, Phase, PortRequest, Resources, Script
from ..site.containers import CONTAINER_RUNTIMES
from .images import ImagePlan
from .infiniband import RoleInfiniband
from .layout.layout import Layout, Placement

Mount = tuple[str, str, str]
"""Whether it is the user's own part of a storage (`own`, else `all`), its path on the nodes, and where it is wanted."""


class ContainerPlan(Struct, frozen=True, kw_only=True):
    """How tasks are put into containers."""

    runtime: str
    """The container runtime, or `none`."""
    mounts: tuple[Mount, ...] = ()
    """What tasks see of the nodes: whose part (`own` or `all`), the path, and the mount point."""
    cache: str | None = None
    """The folder of fetched images."""
    shared: bool = True
    """Whether all nodes have the image cache."""
    certificates: str | None = None
    """A file with the certificates of registries that nodes trust."""
    logins: tuple[str, ...] = ()
    """The names of secrets with the credentials of registries."""
    login_file: tuple[str, ...] = ()
    """A file of the user with such credentials, in parts between which stands the user's name."""

    @property
    def sizes_shm(self) -> bool:
        """Tell whether tasks have a /dev/shm of their own size."""
        row = CONTAINER_RUNTIMES.get(self.runtime)
        return row is None or row.sizes_shm


class EnvironmentPlan(Struct, frozen=True, kw_only=True):
    """The variables of tasks, as far as they are known before the job runs."""

    of_job: tuple[tuple[str, str], ...]
    """Those of every task."""
    paths: tuple[tuple[str, tuple[str, ...]], ...]
    """More of them, each with the parts of its value: between two parts stands the user's name."""
    of_commands: tuple[tuple[str, str], ...]
    """Those that are set last, in the shell of the commands."""
    exported: tuple[str, ...] | None
    """The variables of the submitting shell that tasks get, beginnings with a `*`; None for all."""
    makes_output: bool
    """Whether a missing PAI_OUTPUT_DIR is made: the job names none. Source: PAI rest-server, outputDir of v1."""
    full_job_name: bool
    """Whether PAI_JOB_NAME is `user~name`."""
    exports_all_peers: bool
    """Whether tasks inherit all variables about each other."""


class NodePlan(Struct, frozen=True, kw_only=True):
    """The nodes of the site, and how tasks reach each other."""

    address: Literal["getent", "node-address", "suffix"]
    """How tasks reach a node: `getent`, `node-address` or `suffix`."""
    node_suffix: str | None
    """What is added to a node's name for its address."""
    first_port: int
    """The first port that tasks may have."""
    last_port: int
    """The last port that tasks may have."""
    gpu_vendor: Literal["nvidia", "amd"]
    """`nvidia` or `amd`."""
    gpu_gres: str | None
    """What Slurm calls the job's GPUs if it does not call them `gpu`, else ""."""
    sysfs: str | None
    """Where nodes have the folders `infiniband` and `net`."""


class TimePlan(Struct, frozen=True, kw_only=True, rename={"limit": "time_limit"}):
    """How long the job and its tasks have."""

    limit: timedelta | None
    """How long the job may run; None for the partition's limit."""
    warning: timedelta
    """How long before the time limit tasks get TERM; 0: not at all."""
    grace: timedelta
    """The time from TERM to KILL when a decision stops tasks."""
    interrupted_grace: timedelta
    """The same when Slurm ends the job."""
    debug_hold: timedelta
    """How long a failed task is held, for somebody to look at it; 0: not at all."""


class RetryPlan(Struct, frozen=True, kw_only=True):
    """How often the job and its tasks are retried."""

    retry_limit: int
    """How often failures are retried, as in the job file."""
    max_transient_retries: int
    """How often the job is retried without using up its budget."""
    max_restarts: int
    """How often a job or a task with a retry count of -2 is restarted."""
    monitor_after: Literal["failure", "end"] | None = None
    """The ends after which the script takes a step of the monitor: `failure`, or `end` for any."""


Concern = Literal["jobs", "components", "partitions", "native-mpi"]
Consequence = Literal["avoid-het", "avoid-native-mpi-over-components", "warn", "none"]


class Hazard(Struct, frozen=True, kw_only=True):
    """A fault of some versions of Slurm."""

    name: str
    """The name of the fault."""
    what: str
    """What the fault is."""
    concerns: Concern
    """What a fault of Slurm concerns."""
    consequence: Consequence
    """What a fault of Slurm leads to."""
    source: str
    """Where a fault of Slurm is known from."""
    advice: str | None = None
    """What users can do where the plan only warns."""

    @property
    def avoids_het(self) -> bool:
        """Tell whether one allocation for all roles is better than a component for each."""
        return self.consequence in ("avoid-het", "avoid-native-mpi-over-components")


class SlurmPlan(Struct, frozen=True, kw_only=True, rename={"version": "slurm_version"}):
    """The Slurm of the site."""

    cluster: str | None
    """The cluster to which the job goes; None for that of the machine that submits."""
    version: str | None
    """The version of Slurm; None where it is not known."""
    hazards: tuple[Hazard, ...]
    """The faults of that version which concern the job, in components or not."""


class Component(Struct, frozen=True, kw_only=True, rename={"nodes": "node_count", "roles": "role_positions"}):
    """The sbatch options of one component, in the order in which they are printed."""

    directives: tuple[tuple[str, str | None], ...]
    """The options of sbatch, pairs of name and value; a switch has no value."""
    roles: tuple[int, ...]
    """The positions of the roles that run in the component."""
    nodes: int | None
    """How many nodes a component asks for, None where Slurm decides."""
    note: str | None = None
    """A comment on the component."""


class HookScript(Struct, frozen=True, kw_only=True, rename={"lines": "job_range"}):
    """A script that runs at one place around the commands of a role."""

    phase: Phase
    """When the script runs: `start`, `success`, `failure` or `exit`."""
    number: int
    """The position of its prerequisite or plugin among those of the role."""
    name: str
    """The name of its prerequisite or plugin."""
    kind: Literal["prerequisite", "plugin"]
    """`prerequisite` or `plugin`."""
    ignore_failure: bool
    """Whether a failure of the script has no effect."""
    script: Script
    """What a hook runs."""
    lines: Lines
    """The lines of the job file that it comes from."""

    @property
    def word(self) -> str:
        """Return the word by which the script knows the step; names of prerequisites and plugins have no dots."""
        return f"{self.phase}.{self.number}.{self.kind}.{self.name}.{'ignore' if self.ignore_failure else 'fail'}"


class MpiWorld(Struct, frozen=True, kw_only=True, rename={"roles": "role_positions"}):
    """An MPI world that srun starts."""

    plugin: str
    """The plugin of `srun --mpi`."""
    roles: tuple[int, ...]
    """The positions of the roles whose ranks form the world."""


class RolePlan(
    Struct,
    frozen=True,
    kw_only=True,
    rename={"environment": "variables", "infiniband": "infiniband_plan", "lines": "job_range"},
):
    """How a role runs."""

    position: int
    """The position of a role in the job file, from 0."""
    name: str
    """The name of the role."""
    variable_names: tuple[str, ...]
    """Under what names the role stands in variables: its own, and OpenPAI's controller name where that differs."""
    folder: str
    """The name of its folders below `logs`, `tasks` and `work`."""
    component: int
    """The number of the component in which a role runs, from 0."""
    instances: int
    """The number of its tasks."""
    slots: int
    """How many tasks of a role run at a time."""
    tasks_per_node: int | None
    """The most tasks of a role on a node, None where Slurm decides."""
    placement: Placement
    """The slots on each node of the allocation, in the layout `shared`."""
    step_options: tuple[tuple[str, str | None], ...]
    """The options of a role's srun, pairs of name and value."""
    resources: Resources
    """What a task may use."""
    ports: tuple[PortRequest, ...]
    """The ports of each task."""
    completion: Completion
    """The thresholds of the role."""
    task_retry_limit: int
    """How often a task is retried, as in the job file."""
    ranks: int
    """How many ranks of an MPI world one task is, 0 where srun starts no ranks."""
    mpi_world: MpiWorld | None
    """The world of which the role is a part."""
    image: Image
    """The image as the job file has it."""
    image_plan: ImagePlan
    """Where the image comes from."""
    before: tuple[HookScript, ...]
    """What runs before the commands, in order."""
    command: Command
    """The commands of the role."""
    after: tuple[HookScript, ...]
    """What runs after the commands, in order."""
    environment: tuple[tuple[str, str], ...]
    """Variables of every task of the role that are known now."""
    workdir: str
    """Where the commands start: `task`, `submit`, or an absolute path."""
    infiniband: RoleInfiniband | None
    """The role's InfiniBand settings; its variables are among `environment`."""
    lines: Lines
    """The lines of the job file that it comes from."""


PLAN_VERSION = 3
"""Of the keys of `plan.json` and of `paislurm plan --json`."""
_KEYS = {
    "format": "version",
    "job_name": "job",
    "source": "file",
    "version": "paislurm_version",
    "warnings": "diagnostics",
}
"""The keys that have another name than the field."""


class Plan(Struct, frozen=True, kw_only=True, rename=_KEYS):
    """All that the script is made of. Nothing in it names a user, a host, a date or a folder."""

    format: int = PLAN_VERSION
    """The version of the keys of the plan."""
    job_name: str
    """The job's name, without the user's."""
    source: str
    """The name of the job file."""
    version: str
    """The version of paislurm."""
    protocol: Literal["1", "2"]
    """The version of the job file's protocol, `1` or `2`."""
    virtual_cluster: str | None
    """The virtual cluster."""
    exit_patterns: Literal["fixed", "original"]
    """`fixed` or `original`: the expressions of the exit specification."""
    gang: bool
    """Whether all tasks start together."""
    layout: Layout
    """How roles share nodes."""
    components: tuple[Component, ...]
    """What is asked of Slurm, for each component."""
    roles: tuple[RolePlan, ...]
    """The task roles."""
    containers: ContainerPlan
    """How tasks are put into containers."""
    secrets: tuple[str, ...]
    """The names of the secrets that the script has from files: those of the tasks' scripts, and those of registries."""
    environment: EnvironmentPlan
    """The variables of all tasks."""
    one_log: bool
    """Whether both streams of a task go to one file."""
    min_succeeded: int
    """How many succeeded tasks of all roles complete the job, -1 for none."""
    nodes: NodePlan
    """What nodes are like, and how tasks reach each other."""
    slurm: SlurmPlan
    """The site's Slurm."""
    times: TimePlan
    """How long the job and its tasks have."""
    retry_policy: RetryPlan
    """How often the job is retried."""
    notify: tuple[str, ...]
    """What the user is told of. Source: PAI protocol v2, jobStatusChangeNotification."""
    warnings: tuple[Diagnostic, ...]
    """Warnings about the job file."""

    @property
    def restarts_tasks(self) -> bool:
        """Tell whether tasks run again however they end."""
        return not self.gang and any(role.task_retry_limit == RESTART_ALWAYS for role in self.roles)

    @property
    def fetches_images(self) -> bool:
        """Tell whether images come from a registry."""
        return any(role.image_plan.reference is not None for role in self.roles)

    @property
    def stages_code(self) -> bool:
        """Tell whether tasks find a folder of code in their working directory. Source: PAI protocol v1, codeDir."""
        return any(name == "PAI_CODE_DIR" and any(parts) for name, parts in self.environment.paths)

    @property
    def has_barrier(self) -> bool:
        """Tell whether tasks wait for all others. Source: PAI runtime, plugin ssh, sshbarrier."""
        return any(step.script.program == "ssh" for role in self.roles for step in role.before)

    @property
    def checks_infiniband(self) -> bool:
        """Tell whether nodes are looked at before any task starts."""
        return any(role.infiniband and role.infiniband.checks for role in self.roles)

    @property
    def task_count(self) -> int:
        """Return the number of tasks of all roles."""
        return sum(role.instances for role in self.roles)
