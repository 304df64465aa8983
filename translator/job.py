"""The meaning of a job file in either protocol: frozen records with all defaults filled in.

They contain nothing of Slurm; `slurm_options` has the settings under `extras.slurm`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, get_args

from msgspec import Struct, field

from .slurm_options import CompatOptions, RoleSlurmOptions, SlurmOptions

Protocol = Literal["1", "2"]
Event = Literal["running", "succeeded", "failed", "stopped", "retried"]
EVENTS: tuple[Event, ...] = get_args(Event)
"""The events that can notify a user. Source: PAI protocol v2, jobStatusChangeNotification."""
RESTART_ALWAYS = -2
"""The retry count that restarts a job after any end, also after success. Source: PAI protocol v1, retryCount."""
AS_LONG_AS_ALLOWED = timedelta.max
"""The hold time of a failed task if the job leaves it to the site."""
NEVER = -1
"""The completion threshold that never fires. Source: PAI protocol v2, completion."""


class Lines(Struct, frozen=True, kw_only=True):
    """A range of lines of the job file."""

    first: int
    """The first line, from 1."""
    last: int
    """The last line."""

    def __str__(self) -> str:
        return f"line {self.first}" if self.first == self.last else f"lines {self.first}-{self.last}"


class Completion(Struct, frozen=True, kw_only=True):
    """How many failed or succeeded tasks of a role decide the job. Source: PAI protocol v2, completion."""

    min_failed: int
    """How many failed tasks fail the job; -1: no number does."""
    min_succeeded: int
    """How many succeeded tasks complete the job; -1: no number does."""


class Resources(Struct, frozen=True, kw_only=True):
    """The resources of one task; memory in MiB, 0 if the job does not state it.

    Source: PAI protocol v2, resourcePerInstance and extraContainerOptions.
    """

    cpus: int
    """CPUs per task."""
    memory_mib: int
    """Memory per task."""
    gpus: int
    """GPUs per task."""
    shm_mib: int
    """Shared memory per task."""
    declared_shm_mib: int
    """Shared memory as the job file states it."""
    infiniband: bool
    """Whether the tasks need InfiniBand."""


class PortRequest(Struct, frozen=True, kw_only=True, rename={"first": "fixed_first_port"}):
    """Ports of one label, for every task.

    Source: PAI protocol v2, resourcePerInstance.ports; PAI protocol v1, portList.
    """

    label: str
    """The port label."""
    count: int
    """The number of ports."""
    first: int = 0
    """The first port if the job file fixes the ports, else 0."""


class Image(Struct, frozen=True, kw_only=True):
    """A container image of the job file."""

    name: str
    """The name of the image in the job file."""
    uri: str
    """The image reference or path."""


class Command(Struct, frozen=True, kw_only=True, rename={"lines": "item_lines"}):
    """The commands of a role and their shell options.

    The text has the active deployment's preCommands, the commands and the postCommands, in one shell. v2 sets errexit,
    nounset and pipefail, v1 none. Source: PAI protocol v2, commands and deployments.
    """

    text: str
    """The commands."""
    errexit: bool
    """Whether the first failing command ends the commands."""
    nounset: bool
    """Whether unset variables are errors."""
    pipefail: bool
    """Whether a pipe fails if any of its commands fails."""
    lines: tuple[tuple[int, int], ...]
    """For each item: its first line in `text`, from 0, and its line in the job file, from 1."""


Phase = Literal["start", "success", "failure", "exit"]
"""When a hook runs: before the commands, after success, after failure, or after any end of the task."""


class Script(Struct, frozen=True, kw_only=True, rename={"lines": "item_lines"}):
    """One hook of a prerequisite or plugin: text of the job file, or a program of paislurm.

    The program is `templates/plugins/<program>.sh`. Source: PAI runtime, plugins.
    """

    phase: Phase
    """When the script runs."""
    text: str = ""
    """The script; empty if a program runs instead."""
    lines: tuple[tuple[int, int], ...] = ()
    """Line numbers as in `Command`."""
    program: str | None = None
    """The program of paislurm to run; None for text of the job file."""
    settings: tuple[tuple[str, str], ...] = ()
    """The settings of the plugin as pairs of name and value."""


class Prerequisite(Struct, frozen=True, kw_only=True):
    """The hooks of one prerequisite of the job file, or of one runtime plugin.

    A failing script fails the task unless `ignore_failure` is set. `requires` are the names of
    prerequisites to run first. Source: PAI protocol v2, prerequisites; PAI issue 5145.
    """

    name: str
    kind: Literal["prerequisite", "plugin"]
    scripts: tuple[Script, ...]
    lines: Lines
    requires: tuple[str, ...] = ()
    ignore_failure: bool = False


class Hooks(Struct, frozen=True, kw_only=True):
    """All hooks of a role.

    `requested` are the names that the role lists. `resolved` are these prerequisites and all that they require, in the
    order of the file. `plugins` run after them.
    """

    requested: tuple[str, ...] = ()
    resolved: tuple[Prerequisite, ...] = ()
    plugins: tuple[Prerequisite, ...] = ()

    @property
    def scripts(self) -> list[Script]:
        """All scripts, in the order of their prerequisites and plugins."""
        return [script for each in (*self.resolved, *self.plugins) for script in each.scripts]


class Storage(Struct, frozen=True, kw_only=True):
    """A storage of the site and its mount path. Source: PAI protocol v2, extras.storages."""

    name: str
    mount_path: str


class Storages(Struct, frozen=True, kw_only=True):
    """The storages of a job, with their path in the file; an empty list selects the user's default storages."""

    wanted: tuple[Storage, ...]
    lines: Lines
    path: str


PriorityClass = Literal["crit", "prod", "test", "oppo"]
"""Source: PAI protocol v2, hivedScheduler."""


class Directories(Struct, frozen=True, kw_only=True):
    """Paths that tasks get as variables. Each may be empty; an empty `output` selects the default.

    They may contain `$PAI_DEFAULT_FS_URI`, `$PAI_JOB_NAME`, `$PAI_USER_NAME` and `$PAI_USERNAME`. The file or folder
    `code` is also copied into the working directory of every task.
    Source: PAI protocol v1, dataDir, outputDir and codeDir.
    """

    data: str
    output: str
    code: str


class RolePaths(Struct, frozen=True, kw_only=True):
    """The paths of a role in its job file, for messages: the role, its InfiniBand switch, its node type."""

    role: str
    infiniband: str
    node_type: str


class JobPaths(Struct, frozen=True, kw_only=True):
    """The paths of a job's parts in its file, for messages, such as `$.defaults.virtualCluster`.

    `directories` is the mapping with the keys of `Directories`. `gang_allocation` is "" in protocol v1, which has no
    such switch.
    """

    virtual_cluster: str
    images: str
    retry_count: str
    directories: str
    gang_allocation: str


class Role(Struct, frozen=True, kw_only=True):
    """One task role: `instances` tasks, each with `resources`, which run `command`.

    `controller_name` is the lower-case name without characters outside [a-z0-9]; OpenPAI also exports task variables
    under it. `task_retry_limit` applies only without gang allocation.
    """

    name: str
    controller_name: str
    instances: int
    completion: Completion
    task_retry_limit: int
    image: Image
    resources: Resources
    ports: tuple[PortRequest, ...]
    command: Command
    slurm_options: RoleSlurmOptions
    lines: Lines
    paths: RolePaths
    hooks: Hooks = field(default_factory=Hooks)
    node_type: str | None = None
    """A SKU or a pinned cell of OpenPAI's scheduler, or a GPU type of v1; the site profile maps it to nodes."""

    @property
    def has_fixed_ports(self) -> bool:
        """Whether fixed ports keep two tasks of the role from sharing a node."""
        return any(port.first for port in self.ports)


class Job(Struct, frozen=True, kw_only=True):
    """A job. The order of its roles is that of the file; it decides ties and positions.

    `retry_limit` is signed: -1 retries unknown failures without a limit, -2 restarts after any end (v1 only).
    The job is complete when `min_succeeded` tasks of any roles have succeeded; with 0, only tasks see the number. The
    shell of the commands sets `variables` last, unexpanded; bash cannot set `program_variables`. `notify` are the
    events that notify the user. `debug_hold` is the hold time of a failed task; None means no hold. `auth_file` is the
    path of a file with the server, user and password of the image's registry, in the syntax of `Directories`.
    Source: PAI protocol v1, killAllOnCompletedTaskNumber, jobEnvs, isDebug and authFile.
    """

    protocol: Protocol
    paths: JobPaths
    name: str
    virtual_cluster: str
    retry_limit: int
    gang: bool
    roles: tuple[Role, ...]
    slurm_options: SlurmOptions
    notify: tuple[Event, ...] = ()
    compat: CompatOptions = field(default_factory=CompatOptions)
    storages: Storages | None = None
    priority: PriorityClass | None = None
    secrets: tuple[str, ...] = ()
    """The names of the secrets that the job refers to as `<% $secrets.name %>`, without their values."""
    logins: tuple[str, ...] = ()
    """The names of secrets with registry credentials: server, user and password, one per line."""
    min_succeeded: int = NEVER
    variables: tuple[tuple[str, str], ...] = ()
    program_variables: tuple[tuple[str, str], ...] = ()
    directories: Directories | None = None
    auth_file: str = ""
    debug_hold: timedelta | None = None
    unset_threshold: str = str(NEVER)
    """The text that tasks see for a completion threshold that no number reaches."""

    @property
    def task_count(self) -> int:
        """Return the number of tasks of all roles."""
        return sum(role.instances for role in self.roles)

    def most_per_node(self, role: Role) -> int | None:
        """Return the most tasks of a role that may share a node, None for as many as fit."""
        if role.has_fixed_ports:
            return 1
        return role.slurm_options.tasks_per_node or self.slurm_options.job.tasks_per_node
