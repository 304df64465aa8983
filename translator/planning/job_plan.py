"""The plan: the request to Slurm and the content of the script. Memory in MiB."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from msgspec import Struct

from ..errors import Diagnostic
from ..job import RESTART_ALWAYS, Command, Completion, Image, Lines, Phase, PortRequest, Resources, Script
from ..site.containers import CONTAINER_RUNTIMES
from ..slurm_options import OnMismatch, Progress
from .images import ImagePlan
from .infiniband import RoleInfiniband
from .layout.layout import Layout, Placement
from .preflight import RolePreflight

Mount = tuple[str, str, str]
"""A mount: `own` for the user's part of a storage or `all`, the path on the nodes, and the mount point."""


class ContainerPlan(Struct, frozen=True, kw_only=True):
    """The container settings of tasks."""

    runtime: str
    """The container runtime, or `none`."""
    mounts: tuple[Mount, ...] = ()
    """The mounts of tasks: the part (`own` or `all`), the path on the nodes, and the mount point."""
    cache: str | None = None
    """The folder of fetched images."""
    shared: bool = True
    """Whether all nodes share the image cache."""
    certificates: str | None = None
    """A file with the certificates of trusted registries."""
    logins: tuple[str, ...] = ()
    """The names of secrets with registry credentials."""
    login_file: tuple[str, ...] = ()
    """The user's file with registry credentials, split where the user's name goes."""

    @property
    def sizes_shm(self) -> bool:
        """Whether tasks have a /dev/shm of the requested size."""
        row = CONTAINER_RUNTIMES.get(self.runtime)
        return row is None or row.sizes_shm


class EnvironmentPlan(Struct, frozen=True, kw_only=True):
    """The variables of tasks that are known before the job runs."""

    of_job: tuple[tuple[str, str], ...]
    """The variables of every task."""
    paths: tuple[tuple[str, tuple[str, ...]], ...]
    """Variables with paths, each split where the user's name goes."""
    of_commands: tuple[tuple[str, str], ...]
    """The variables that the shell of the commands sets last."""
    of_programs: tuple[str, ...]
    """Variables that a shell cannot set, as NAME=VALUE."""
    exported: tuple[str, ...] | None
    """The variables of the submitting shell to export to tasks; `*` ends a prefix. None exports all."""
    makes_output: bool
    """Whether to create a missing PAI_OUTPUT_DIR: the job names none. Source: PAI rest-server, outputDir of v1."""
    full_job_name: bool
    """Whether PAI_JOB_NAME is `user~name`."""
    exports_all_peers: bool
    """Whether tasks inherit all variables about each other."""


class NodePlan(Struct, frozen=True, kw_only=True):
    """The nodes of the site, and how tasks reach each other."""

    address: Literal["getent", "node-address", "suffix"]
    """How tasks find the address of a node: `getent`, `node-address` or `suffix`."""
    node_suffix: str | None
    """The suffix that makes an address of a node's name."""
    first_port: int
    """The first port for tasks."""
    last_port: int
    """The last port for tasks."""
    gpu_vendor: Literal["nvidia", "amd"]
    """`nvidia` or `amd`."""
    gpu_gres: str | None
    """The gres name of the job's GPUs if it is not `gpu`, else ""."""
    sysfs: str | None
    """The folder of `infiniband` and `net` on the nodes."""
    gid_index: int | None
    """The GID index of RoCE adapters; None: the nodes find it."""


class TimePlan(Struct, frozen=True, kw_only=True, rename={"limit": "time_limit"}):
    """The time limits of the job and its tasks."""

    limit: timedelta | None
    """The time limit; None for the partition's."""
    warning: timedelta
    """The time from TERM to the time limit; 0: no TERM."""
    grace: timedelta
    """The time from TERM to KILL when a decision stops tasks."""
    interrupted_grace: timedelta
    """The same when Slurm ends the job."""
    debug_hold: timedelta
    """How long a failed task is held for inspection; 0: not at all."""


class RetryPlan(Struct, frozen=True, kw_only=True):
    """The retry limits of the job and its tasks."""

    retry_limit: int
    """The retry count of the job file."""
    max_transient_retries: int
    """How often the job is retried after transient failures."""
    max_restarts: int
    """How often a job or a task with a retry count of -2 restarts."""
    monitor_after: Literal["failure", "end"] | None = None
    """The ends after which the script runs a monitor step: `failure`, or `end` for any."""


Concern = Literal["jobs", "components", "partitions", "native-mpi"]
Consequence = Literal["avoid-het", "avoid-native-mpi-over-components", "warn", "none"]


class Hazard(Struct, frozen=True, kw_only=True):
    """A bug of some versions of Slurm."""

    name: str
    """The name of the bug."""
    what: str
    """The effect of the bug."""
    concerns: Concern
    """The jobs that can trigger the bug."""
    consequence: Consequence
    """The consequence for the plan."""
    source: str
    """The source of this information."""
    advice: str | None = None
    """The advice for users if the plan only warns."""

    @property
    def avoids_het(self) -> bool:
        """Whether one allocation for all roles is better than a component for each."""
        return self.consequence in ("avoid-het", "avoid-native-mpi-over-components")


class SlurmPlan(Struct, frozen=True, kw_only=True, rename={"version": "slurm_version"}):
    """The Slurm of the site."""

    cluster: str | None
    """The cluster to submit to; None for the cluster of the submitting machine."""
    version: str | None
    """The version of Slurm; None if unknown."""
    hazards: tuple[Hazard, ...]
    """The bugs of that version that the job can trigger, with or without components."""


class Component(Struct, frozen=True, kw_only=True, rename={"nodes": "node_count", "roles": "role_positions"}):
    """The sbatch options of one component, in the order of the script."""

    directives: tuple[tuple[str, str | None], ...]
    """The options of sbatch, pairs of name and value; a switch has no value."""
    roles: tuple[int, ...]
    """The positions of the roles that run in the component."""
    nodes: int | None
    """The number of nodes of the component, None if Slurm decides."""
    note: str | None = None
    """A comment on the component."""


class HookScript(Struct, frozen=True, kw_only=True, rename={"lines": "job_range"}):
    """One hook of a role."""

    phase: Phase
    """When the script runs: `start`, `success`, `failure` or `exit`."""
    number: int
    """The position of its prerequisite or plugin among those of the role."""
    name: str
    """The name of its prerequisite or plugin."""
    kind: Literal["prerequisite", "plugin"]
    """`prerequisite` or `plugin`."""
    ignore_failure: bool
    """Whether a failure of the script is ignored."""
    script: Script
    """The text or program of the hook."""
    lines: Lines
    """The lines of its source in the job file."""

    @property
    def policy(self) -> Literal["fail", "continue", "ignore"]:
        """Whether its first failing command fails the hook, only its exit does, or nothing."""
        if not self.ignore_failure:
            return "fail"
        return "ignore" if self.script.program else "continue"

    @property
    def word(self) -> str:
        """The identifier of the hook in the script; names of prerequisites and plugins contain no dots."""
        return f"{self.phase}.{self.number}.{self.kind}.{self.name}.{self.policy}"


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
    """The plan of a role."""

    position: int
    """The position of the role in the job file, from 0."""
    name: str
    """The name of the role."""
    variable_names: tuple[str, ...]
    """The names of the role in variables: its own, and OpenPAI's controller name if it differs."""
    folder: str
    """The name of its folders below `logs`, `tasks` and `work`."""
    component: int
    """The number of the role's component, from 0."""
    instances: int
    """The number of its tasks."""
    slots: int
    """How many tasks of the role run at a time."""
    tasks_per_node: int | None
    """The most tasks of the role on a node, None if Slurm decides."""
    placement: Placement
    """The slots on each node of the allocation, in the layout `shared`."""
    step_options: tuple[tuple[str, str | None], ...]
    """The options of the role's srun, pairs of name and value."""
    on_mismatch: OnMismatch
    """What a task does that shares CPUs with others, or whose GPUs or adapters are far."""
    resources: Resources
    """The resources of a task."""
    ports: tuple[PortRequest, ...]
    """The ports of each task."""
    completion: Completion
    """The thresholds of the role."""
    task_retry_limit: int
    """The task retry count of the job file."""
    ranks: int
    """How many ranks of an MPI world a task has; 0 if srun starts no ranks."""
    mpi_world: MpiWorld | None
    """The MPI world of the role."""
    image: Image
    """The image as the job file has it."""
    image_plan: ImagePlan
    """The location of the image."""
    before: tuple[HookScript, ...]
    """The hooks before the commands, in order."""
    command: Command
    """The commands of the role."""
    after: tuple[HookScript, ...]
    """The hooks after the commands, in order."""
    environment: tuple[tuple[str, str], ...]
    """The known variables of every task of the role."""
    workdir: str
    """The working directory of the commands: `task`, `submit`, or an absolute path."""
    progress: Progress | None
    """The stall guard of the role."""
    progress_group: int | None
    """The first role of those that share a stall guard; a role with its own setting is alone."""
    infiniband: RoleInfiniband | None
    """The role's InfiniBand settings; its variables are among `environment`."""
    preflight: RolePreflight | None
    """The checks of the role's nodes before tasks start."""
    lines: Lines
    """The lines of its source in the job file."""


PLAN_VERSION = 3
"""The version of the keys of `plan.json` and of `paislurm plan --json`."""
_KEYS = {
    "format": "version",
    "job_name": "job",
    "source": "file",
    "version": "paislurm_version",
    "warnings": "diagnostics",
}
"""The keys that differ from the names of their fields."""


class Plan(Struct, frozen=True, kw_only=True, rename=_KEYS):
    """All inputs of the script. It contains no user, host, date or folder."""

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
    """The expressions of the exit specification: `fixed` or `original`."""
    background: Literal["wait", "stop"]
    """Whether tasks wait for processes that successful commands leave in the background."""
    gang: bool
    """Whether all tasks start together."""
    layout: Layout
    """How roles share nodes."""
    spare: int = 0
    """How many nodes get no tasks until another node is lost."""
    requeues: bool = False
    """Whether Slurm restarts the job before others after the loss of a node."""
    whole_nodes: bool = False
    """Whether the job gets whole nodes, so that their other CPUs and GPUs stay idle."""
    components: tuple[Component, ...]
    """The request to Slurm for each component."""
    roles: tuple[RolePlan, ...]
    """The task roles."""
    containers: ContainerPlan
    """The container settings."""
    secrets: tuple[str, ...]
    """The names of the secrets that the script reads from files: for the tasks' scripts, and for registries."""
    environment: EnvironmentPlan
    """The variables of all tasks."""
    one_log: bool
    """Whether both output streams of a task go to one file."""
    checkpoints: str | None
    """The pattern of the job's checkpoints."""
    min_succeeded: int
    """How many succeeded tasks of all roles complete the job; -1: no number does."""
    nodes: NodePlan
    """The properties of the nodes, and how tasks reach each other."""
    slurm: SlurmPlan
    """The site's Slurm."""
    times: TimePlan
    """The time limits of the job and its tasks."""
    retry_policy: RetryPlan
    """The retry limits of the job and its tasks."""
    notify: tuple[str, ...]
    """The events that notify the user. Source: PAI protocol v2, jobStatusChangeNotification."""
    warnings: tuple[Diagnostic, ...]
    """Warnings about the job file."""

    @property
    def most_losses(self) -> int:
        """After how many losses of a node all tasks start anew in the same Slurm job, at most."""
        return self.retry_policy.max_transient_retries if self.requeues else self.spare

    @property
    def restarts_tasks(self) -> bool:
        """Whether tasks restart after any end."""
        return not self.gang and any(role.task_retry_limit == RESTART_ALWAYS for role in self.roles)

    @property
    def fetches_images(self) -> bool:
        """Whether images come from a registry."""
        return any(role.image_plan.reference is not None for role in self.roles)

    @property
    def stages_code(self) -> bool:
        """Whether tasks get a copy of codeDir in their working directory. Source: PAI protocol v1, codeDir."""
        return any(name == "PAI_CODE_DIR" and any(parts) for name, parts in self.environment.paths)

    @property
    def has_barrier(self) -> bool:
        """Whether tasks wait for all others. Source: PAI runtime, plugin ssh, sshbarrier."""
        return any(step.script.program == "ssh" for role in self.roles for step in role.before)

    @property
    def checks_infiniband(self) -> bool:
        """Whether nodes are checked before any task starts."""
        return any(role.infiniband and role.infiniband.checks for role in self.roles)

    @property
    def task_count(self) -> int:
        """Return the number of tasks of all roles."""
        return sum(role.instances for role in self.roles)
