"""The plan: what will be asked of Slurm and what the script will do, decided and printable. Memory in MiB."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ..errors import Diagnostic
from ..job import RESTART_ALWAYS, Command, Completion, Image, Lines, Phase, PortRequest, Resources, Script
from ..site.containers import CONTAINER_RUNTIMES
from .images import ImagePlan
from .infiniband import RoleInfiniband

if TYPE_CHECKING:
    from .layout.layout import Layout
    from .layout.packing import Placement

Mount = tuple[str, str, str]
"""Whether it is the user's own part of a storage (`own`, else `all`), its path on the nodes, and where it is wanted."""


class ContainerPlan(Struct, frozen=True, kw_only=True):
    """Say how tasks are put into containers.

    `mounts` is what tasks see of the nodes: whose part (`own` or `all`), the path, and the mount point. `cache` is
    where images are kept that come from a registry, once for all nodes if it is `shared`. `logins` are the names of
    secrets with the credentials of a registry, and `login_file` a file of the user with the same, in parts between
    which stands the user's name. `certificates` is a file with what the nodes trust of registries.
    """

    runtime: str
    mounts: tuple[Mount, ...] = ()
    cache: str = ""
    shared: bool = True
    certificates: str = ""
    logins: tuple[str, ...] = ()
    login_file: tuple[str, ...] = ()

    @property
    def sizes_shm(self) -> bool:
        """Tell whether tasks have a /dev/shm of their own size."""
        row = CONTAINER_RUNTIMES.get(self.runtime)
        return row is None or row.sizes_shm


class EnvironmentPlan(Struct, frozen=True, kw_only=True):
    """Say which variables tasks have, as far as they are known before the job runs."""

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
    """Say what the site's nodes are like and how tasks reach each other there."""

    address: Literal["getent", "node-address", "suffix"]
    node_suffix: str
    first_port: int
    last_port: int
    gpu_vendor: Literal["nvidia", "amd"]
    gpu_gres: str
    """What Slurm calls the job's GPUs if it does not call them `gpu`, else ""."""
    sysfs: str
    """Where nodes have the folders `infiniband` and `net`."""


class TimePlan(Struct, frozen=True, kw_only=True):
    """Say how long the job and its tasks have."""

    limit: timedelta | None
    warning: timedelta
    """How long before the time limit tasks get TERM; 0: not at all."""
    grace: timedelta
    """The time from TERM to KILL when a decision stops tasks."""
    interrupted_grace: timedelta
    """The same when Slurm ends the job."""
    debug_hold: timedelta
    """How long a failed task is held, for somebody to look at it; 0: not at all."""


class RetryPlan(Struct, frozen=True, kw_only=True):
    """Say how often the job and its tasks are tried again."""

    retry_limit: int
    max_transient_retries: int
    max_restarts: int
    """How often a job or a task with a retry count of -2 is restarted."""
    monitor_after: Literal["", "failure", "end"] = ""
    """After which ends of its own an attempt takes a step of the monitor: the site has no other near at hand."""


Concern = Literal["jobs", "components", "partitions", "native-mpi"]
Consequence = Literal["avoid-het", "avoid-native-mpi-over-components", "warn", "none"]


class Hazard(Struct, frozen=True, kw_only=True):
    """Describe a fault of some versions of Slurm; `advice` is what users can do where the plan only warns."""

    name: str
    what: str
    concerns: Concern
    consequence: Consequence
    source: str
    advice: str = ""

    @property
    def avoids_het(self) -> bool:
        """Tell whether one allocation for all roles is better than a component for each."""
        return self.consequence in ("avoid-het", "avoid-native-mpi-over-components")


class SlurmPlan(Struct, frozen=True, kw_only=True):
    """Say which Slurm the site has."""

    cluster: str
    """"" for the cluster of the machine that submits."""
    version: str
    """"" where it is not known."""
    hazards: tuple[Hazard, ...]
    """The faults of that version which concern the job, in components or not."""


class Component(Struct, frozen=True, kw_only=True):
    """List the sbatch options of one component, `(name, value)` in the order they are printed.

    `name` has no dashes; a value of None is a switch. `roles` are the positions of the roles that run in it.
    """

    directives: tuple[tuple[str, str | None], ...]
    roles: tuple[int, ...]
    nodes: int | None
    note: str = ""


class HookScript(Struct, frozen=True, kw_only=True):
    """Say which script runs at one place around a role's commands.

    `number` is the position of its prerequisite (or plugin) among those of the role, in the order of the start.
    """

    phase: Phase
    number: int
    name: str
    kind: Literal["prerequisite", "plugin"]
    ignore_failure: bool
    script: Script
    lines: Lines

    @property
    def word(self) -> str:
        """Return the word by which the script knows the step; names of prerequisites and plugins have no dots."""
        return f"{self.phase}.{self.number}.{self.kind}.{self.name}.{'ignore' if self.ignore_failure else 'fail'}"


class MpiWorld(Struct, frozen=True, kw_only=True):
    """Name the roles, by position, whose ranks srun starts as one MPI world, and the plugin of `srun --mpi`."""

    plugin: str
    roles: tuple[int, ...]


class RolePlan(Struct, frozen=True, kw_only=True):
    """Say how one role runs.

    `folder` is the role's name on disk, `<position>-<sanitised name>`. `slots` tasks run at a time.
    `tasks_per_node` is the most that one node takes, None where Slurm decides. `placement` gives, in the `shared`
    layout alone, the nodes of the allocation that have slots. `step_options` are the srun options of the role's step.
    """

    position: int
    name: str
    variable_names: tuple[str, ...]
    """Under what names the role stands in variables: its own, and OpenPAI's controller name where that differs."""
    folder: str
    component: int
    instances: int
    slots: int
    tasks_per_node: int | None
    placement: Placement
    step_options: tuple[tuple[str, str | None], ...]
    resources: Resources
    ports: tuple[PortRequest, ...]
    completion: Completion
    task_retry_limit: int
    ranks: int
    """How many ranks of an MPI world one task is, 0 where srun starts no ranks."""
    mpi_world: MpiWorld | None
    """The world of which the role is a part."""
    image: Image
    image_plan: ImagePlan
    before: tuple[HookScript, ...]
    """What runs before the commands, in order."""
    command: Command
    after: tuple[HookScript, ...]
    """What runs after the commands, in order."""
    environment: tuple[tuple[str, str], ...]
    """Variables of every task of the role that are known now."""
    workdir: str
    """Where the commands start: `task`, `submit`, or an absolute path."""
    infiniband: RoleInfiniband | None
    """The role's InfiniBand settings; its variables are among `environment`."""
    lines: Lines


class Plan(Struct, frozen=True, kw_only=True):
    """Hold everything the renderer needs; nothing in it names a user, a host, a date or a folder."""

    job_name: str
    source: str
    version: str
    protocol: Literal["1", "2"]
    virtual_cluster: str
    exit_patterns: Literal["fixed", "original"]
    gang: bool
    layout: Layout
    components: tuple[Component, ...]
    roles: tuple[RolePlan, ...]
    containers: ContainerPlan
    secrets: tuple[str, ...]
    """The names of the secrets that the script has from files: those of the tasks' scripts, and those of registries."""
    environment: EnvironmentPlan
    one_log: bool
    """Whether both streams of a task go to one file."""
    min_succeeded: int
    """How many succeeded tasks of all roles complete the job, -1 for none."""
    nodes: NodePlan
    slurm: SlurmPlan
    times: TimePlan
    retry_policy: RetryPlan
    notify: tuple[str, ...]
    """What the user is told of. Source: PAI protocol v2, jobStatusChangeNotification."""
    warnings: tuple[Diagnostic, ...]

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
