"""What a job means, whichever protocol it came from: frozen, with every default filled in.

Nothing here knows about Slurm; a job's own words about it are in `slurm_options`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, get_args

from msgspec import Struct, field

from .slurm_options import JobCompatOptions, RoleSlurmOptions, SlurmOptions

Protocol = Literal["1", "2"]
Event = Literal["running", "succeeded", "failed", "stopped", "retried"]
EVENTS: tuple[Event, ...] = get_args(Event)
"""What a user can be told of. Source: PAI protocol v2, jobStatusChangeNotification."""
RESTART_ALWAYS = -2
"""The retry count of a job that is restarted after any end, success too. Source: PAI protocol v1, retryCount."""
AS_LONG_AS_ALLOWED = timedelta.max
"""How long a failed task is held where the job leaves that to the site."""
NEVER = -1
"""The completion threshold that never fires. Source: PAI protocol v2, completion."""


class Lines(Struct, frozen=True, kw_only=True):
    """Give the first and last line (from 1) of the job file that something came from."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"line {self.first}" if self.first == self.last else f"lines {self.first}-{self.last}"


class Completion(Struct, frozen=True, kw_only=True):
    """Hold a role's thresholds: how many failed or succeeded tasks decide the job; `NEVER` is -1.

    Source: PAI protocol v2, completion.
    """

    min_failed: int
    min_succeeded: int


class Resources(Struct, frozen=True, kw_only=True):
    """Hold what one task may use; memory and shared memory in MiB.

    `memory_mib` 0 means that the job states none. `shm_mib` is the effective size of /dev/shm;
    `declared_shm_mib` is what `PAI_RESOURCE_<role>` shows (0 for an unset v2 value).
    Source: PAI protocol v2, resourcePerInstance and extraContainerOptions.
    """

    cpus: int
    memory_mib: int
    gpus: int
    shm_mib: int
    declared_shm_mib: int
    infiniband: bool


class PortRequest(Struct, frozen=True, kw_only=True):
    """Ask for `count` ports under a label for every task; `first` > 0 fixes them (v1 `beginAt`).

    Source: PAI protocol v2, resourcePerInstance.ports; PAI protocol v1, portList.
    """

    label: str
    count: int
    first: int = 0


class Image(Struct, frozen=True, kw_only=True):
    """Name a container image: the prerequisite's name, and its reference as the job file has it."""

    name: str
    uri: str


class Command(Struct, frozen=True, kw_only=True):
    """Hold a role's assembled command text and the shell options it runs under.

    The text is the active deployment's preCommands, the commands, and the postCommands, one shell for all.
    v2 runs with errexit, nounset and pipefail, v1 with none. Source: PAI protocol v2, commands and
    deployments.
    """

    text: str
    errexit: bool
    nounset: bool
    pipefail: bool
    lines: tuple[tuple[int, int], ...]
    """For each line of `text`: (0-based line of `text` at which an item starts, its line in the job file)."""


Phase = Literal["start", "success", "failure", "exit"]
"""When a script of a prerequisite runs: before the commands, after the task succeeded or failed, after any end."""


class Script(Struct, frozen=True, kw_only=True):
    """Hold what a prerequisite or a plugin runs at one moment: a text of the job file, or a program of ours.

    A program is a part of this project, `templates/plugins/<program>.sh`, and `settings` are its variables.
    Source: PAI runtime, plugins.
    """

    phase: Phase
    text: str = ""
    lines: tuple[tuple[int, int], ...] = ()
    """As those of a `Command`."""
    program: str = ""
    settings: tuple[tuple[str, str], ...] = ()


class Prerequisite(Struct, frozen=True, kw_only=True):
    """Describe what runs around a role's commands: a prerequisite of the job file, or a runtime plugin.

    With `ignore_failure` a failing script has no effect, else it fails the task. `requires` are the names of
    the prerequisites that come before it. Source: PAI protocol v2, prerequisites; PAI issue 5145.
    """

    name: str
    kind: Literal["prerequisite", "plugin"]
    scripts: tuple[Script, ...]
    lines: Lines
    requires: tuple[str, ...] = ()
    ignore_failure: bool = False


class Hooks(Struct, frozen=True, kw_only=True):
    """Hold all that runs around a role's commands.

    `requested` are the names that the role lists, in their order; `resolved` the prerequisites that these names and
    their requirements stand for, in the order of the file; `plugins` come after them.
    """

    requested: tuple[str, ...] = ()
    resolved: tuple[Prerequisite, ...] = ()
    plugins: tuple[Prerequisite, ...] = ()


class Storage(Struct, frozen=True, kw_only=True):
    """Ask for a storage of the site at a path. Source: PAI protocol v2, extras.storages."""

    name: str
    mount_path: str


class Storages(Struct, frozen=True, kw_only=True):
    """List the storages that a job asks for; none are the user's default ones."""

    wanted: tuple[Storage, ...]
    lines: Lines


PriorityClass = Literal["crit", "prod", "test", "oppo"]
"""Source: PAI protocol v2, hivedScheduler."""


class Directories(Struct, frozen=True, kw_only=True):
    """Hold paths that tasks get as variables, as the job file has them; each may be empty, `output` for a default.

    `$PAI_DEFAULT_FS_URI` (the first one), `$PAI_JOB_NAME`, `$PAI_USER_NAME` and `$PAI_USERNAME` in them stand for
    what they name. What `code` leads to is also copied into the working directory of every task, under its last name.
    Source: PAI protocol v1, dataDir, outputDir and codeDir.
    """

    data: str
    output: str
    code: str


class RolePaths(Struct, frozen=True, kw_only=True):
    """Say where messages find a role in its job file: the role itself, its InfiniBand switch, its node type."""

    role: str
    infiniband: str
    node_type: str


class JobPaths(Struct, frozen=True, kw_only=True):
    """Say where messages find what a job is made of in its file, such as `$.defaults.virtualCluster`.

    `directories` is the table that has the keys of the `Directories`. `gang_allocation` is "" where the protocol has no
    such switch.
    """

    virtual_cluster: str
    images: str
    retry_count: str
    directories: str
    gang_allocation: str


class Role(Struct, frozen=True, kw_only=True):
    """Describe one task role: `instances` tasks, each with `resources`, running `command`.

    `controller_name` is the lower-cased name without anything outside [a-z0-9], under which OpenPAI also
    exported the variables of a task. `task_retry_limit` counts only where the job's gang allocation is off.
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
    """A SKU or a pinned cell of OpenPAI's scheduler, or v1's type of GPU, which the site profile knows as nodes."""

    @property
    def has_fixed_ports(self) -> bool:
        """Tell whether two tasks of the role cannot be on one node."""
        return any(port.first for port in self.ports)


class Job(Struct, frozen=True, kw_only=True):
    """Describe a job: its roles in the order of the file, which decides ties and positions.

    `retry_limit` is signed: -1 retries unknown failures without a limit, -2 restarts after any end (v1 only).
    `min_succeeded` tasks that succeeded, of whatever role, complete the job. `variables` are set last and as they are,
    in the shell of the commands. `notify` is what its user is told of. `debug_hold` is how long a failed task is held,
    None where it is not.
    `auth_file` is the path of a file with the server, user and password of the image's registry, written as the
    `Directories` are.
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
    compat: JobCompatOptions = field(default_factory=JobCompatOptions)
    storages: Storages | None = None
    priority: PriorityClass | None = None
    secrets: tuple[str, ...] = ()
    """The names of the secrets that texts of the job refer to, `<% $secrets.name %>`; their values are not here."""
    logins: tuple[str, ...] = ()
    """The names of secrets with the credentials of a registry: server, user and password, a line each."""
    min_succeeded: int = NEVER
    variables: tuple[tuple[str, str], ...] = ()
    directories: Directories | None = None
    auth_file: str = ""
    debug_hold: timedelta | None = None
    unset_threshold: str = str(NEVER)
    """What tasks see in the place of a completion threshold that never fires."""

    @property
    def task_count(self) -> int:
        """Return the number of tasks of all roles."""
        return sum(role.instances for role in self.roles)
