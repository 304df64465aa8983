"""The job protocol v2, as OpenPAI's server accepts it.

Values that the server accepts but that are certainly mistakes (a threshold of 0, `gangAllocation: "no"`) are refused;
the field says so. Source: PAI protocol v2, and the schema of PAI's rest-server where they differ.
"""

# ruff: noqa: RUF012 - nothing modifies the defaults
from typing import Annotated, Any, Literal

from pydantic import Field

from ...validation.strict_model import (
    MAX_INT,
    NOT_EMPTY,
    OpenModel,
    StrictModel,
    Text,
    TextIfGiven,
    TextOrNumber,
    Validator,
    choice,
    expected,
    int_range,
    integer,
    name_pattern,
    pattern,
    positive,
)
from .extras_schema import Extras

MAX_INSTANCES = 10_000
"""Source: frameworkcontroller, taskNumber maximum."""
NAME = "a name of at most 255 letters (a-z, A-Z), digits, `_` and `-`"
Name = Annotated[str, name_pattern(NAME, r"[a-zA-Z0-9_-]{1,255}")]
_WORD = r"[a-zA-Z_][a-zA-Z0-9_]*"
RoleName = Annotated[
    str, name_pattern("a role name of letters (a-z, A-Z), digits and `_`, not beginning with a digit", _WORD)
]
Label = Annotated[
    str, name_pattern("a port label of letters (a-z, A-Z), digits and `_`, not beginning with a digit", _WORD)
]
ImageUri = Annotated[str, pattern("an image such as `repository/image:tag`, without blanks", r"[^\s\x00-\x20\x7f]+")]


def _version(value: object) -> object:
    if value not in (2, "2") or isinstance(value, bool):
        hint = "write 2; a job of protocol 1 has `jobName`, and no `protocolVersion`"
        raise expected("2", hint)
    return value


Version = Annotated[Any, Validator(_version, {"enum": [2, "2"]})]
Int = Annotated[int, int_range()]
TextList = Annotated[list[Text], NOT_EMPTY]


def _threshold(value: object) -> int | None:
    number = integer(value)
    if value is None or number == -1:
        return number
    return positive(number, "-1 (never)")


_THRESHOLD = {"type": ["integer", "null"], "minimum": -1, "maximum": MAX_INT, "not": {"const": 0}}
Threshold = Annotated[int | None, Validator(_threshold, _THRESHOLD)]
"""The server ignores 0, and accepts numbers below -1, with which its controller fails the job."""


def _secrets(value: object) -> dict[str, Any]:
    if isinstance(value, str) and value and not value.strip("*"):
        hint = "pass them in a file, `--secrets FILE`: OpenPAI masks the secrets of a job that it shows or exports"
        raise expected("the job's secrets", hint, 6)
    if not isinstance(value, dict):
        raise expected("a mapping")
    return value


def _virtual_cluster(value: object) -> str:
    """Return the name; null selects the default. Source: PAI rest-server, hivedValidate."""
    if value is not None and not isinstance(value, str):
        raise expected("text")
    return "default" if value is None else value


class _Described(StrictModel):
    """Informational keys of any prerequisite. Source: PAI protocol v2, prerequisites."""

    name: Name
    """The name that task roles refer to."""
    protocol_version: Version = 2
    """Informational, 2."""
    version: TextOrNumber = ""
    """Informational."""
    contributor: Text = ""
    """Informational."""
    description: Text = ""
    """Informational."""


class DockerImage(_Described):
    """A container image; the only type without further keys. Source: PAI protocol v2, prerequisites."""

    type: Literal["dockerimage"]
    """The type of prerequisite."""
    uri: ImageUri
    """Its location."""
    auth: dict[str, Text] = {}
    """User name, password and registry of a private image."""

    @property
    def acts(self) -> bool:
        """Whether it runs anything for a role that lists it."""
        return False


class Plugged(_Described, extra="allow"):
    """A prerequisite with a plugin; unknown keys are parameters of the plugin, which checks them.

    Source: PAI protocol v2, prerequisites; PAI issue 5145.
    """

    plugin: Text = ""
    """The plugin to run. Default: `com.microsoft.pai.runtimeplugin.cmd`."""
    require: list[Text] = []
    """Names of prerequisites to run first."""
    failure_policy: Any = None
    """Whether a failure of its commands fails the task (`fail`) or is ignored (`ignore`)."""
    callbacks: Any = None
    """Commands at events of the task, in place of `preCommands` and `postCommands`."""
    pre_commands: Any = None
    """Commands before those of the role."""
    post_commands: Any = None
    """Commands after those of the role, if they succeed."""

    @property
    def acts(self) -> bool:
        """Whether it runs anything for a role that lists it: commands without a plugin belong to the cmd plugin."""
        return any((self.plugin, self.callbacks, self.pre_commands, self.post_commands))


class Script(Plugged):
    """A script or an output. Source: PAI protocol v2, prerequisites."""

    type: Literal["script", "output"]
    """The type of prerequisite."""
    uri: Text = ""
    """Its location."""


class Data(Plugged):
    """A data set with several URIs. Source: PAI protocol v2, prerequisites."""

    type: Literal["data"]
    """The type of prerequisite."""
    uri: list[Text] = []
    """Its location."""


Prerequisite = Annotated[DockerImage | Script | Data, Field(discriminator="type")]


class Completion(StrictModel):
    """How a role decides the job; null selects the default. Source: PAI protocol v2, completion."""

    min_failed_instances: Threshold = None
    """How many failed tasks of the role fail the job; -1: no number does. Default: 1."""
    min_succeeded_instances: Threshold = None
    """How many succeeded tasks of the role complete the job; -1: no number does."""


class ContainerOptions(OpenModel):
    """The size of /dev/shm in MiB, 0 for the default; `infiniband` may be any value.

    Source: PAI protocol v2, extraContainerOptions.
    """

    shm_mb: Annotated[Int, Field(alias="shmMB")] = 0
    """Size of /dev/shm in MiB; 0 for the default, 512."""
    infiniband: Any = False
    """Whether the tasks communicate over InfiniBand."""


class Resources(StrictModel):
    """The resources of one task; memory in MiB; `ports` are counts. `semantic_checks.py` checks lower bounds.

    Source: PAI protocol v2, resourcePerInstance.
    """

    cpu: Int
    """CPUs of one task."""
    memory_mb: Annotated[Int, Field(alias="memoryMB")]
    """Memory of one task in MiB."""
    gpu: Int
    """GPUs of one task."""
    ports: Annotated[dict[Label, Int] | None, NOT_EMPTY] = None
    """The number of ports of a task by label."""


class Role(StrictModel):
    """A task role; its `protocolVersion` has no effect. Source: PAI protocol v2, taskRoles."""

    instances: Annotated[int, int_range(1, MAX_INSTANCES)] = 1
    """The number of tasks of the role."""
    completion: Completion = Completion.of()
    """When tasks of this role decide the job."""
    task_retry_count: Annotated[int, int_range(-2)] = 0
    """How often to retry a task; only if `extras.gangAllocation` is false."""
    prerequisites: list[Text] = []
    """Names of prerequisites, run in this order before the commands."""
    docker_image: Text
    """The name of the `dockerimage` prerequisite in which the tasks run."""
    data: TextIfGiven = None
    """The name of a `data` prerequisite, for `<% $data.uri[0] %>`."""
    output: TextIfGiven = None
    """The name of an `output` prerequisite, for `<% $output.uri %>`."""
    script: TextIfGiven = None
    """The name of a `script` prerequisite, for `<% $script.uri %>`."""
    extra_container_options: ContainerOptions = ContainerOptions.of()
    """Shared memory and InfiniBand."""
    resource_per_instance: Resources
    """The resources of one task."""
    commands: TextList
    """Shell commands, run one after another in one bash."""
    protocol_version: Version = 2
    """Informational, 2."""

    @property
    def selections(self) -> tuple[tuple[str, str, str | None], ...]:
        """The keys that select one prerequisite, the required type, and the selected name, if any."""
        return (
            ("dockerImage", "dockerimage", self.docker_image),
            ("data", "data", self.data),
            ("output", "output", self.output),
            ("script", "script", self.script),
        )


class DeploymentRole(StrictModel):
    """Commands around those of a role. Source: PAI protocol v2, deployments."""

    pre_commands: TextList = []
    """Commands before those of the role, in the same bash."""
    post_commands: TextList = []
    """Commands after those of the role, in the same bash."""


class Deployment(OpenModel):
    """A named set of commands around those of roles. Source: PAI protocol v2, deployments."""

    name: Name
    """The name that `defaults.deployment` refers to."""
    protocol_version: Version = 2
    """Informational, 2."""
    task_roles: Annotated[dict[RoleName, DeploymentRole], NOT_EMPTY]
    """The commands by task role."""


class Defaults(OpenModel):
    """The active deployment, and the virtual cluster. Source: PAI protocol v2, defaults."""

    deployment: TextIfGiven = None
    """The name of the active deployment."""
    virtual_cluster: Annotated[str, Validator(_virtual_cluster, {"type": ["string", "null"]})] = "default"
    """The virtual cluster, which the site profile maps to a partition."""


class JobFile(StrictModel):
    """A job file. Source: PAI protocol v2."""

    protocol_version: Version
    """The protocol of the file, 2."""
    name: Name
    """The job's name; none of the user's live jobs may have the same."""
    type: Annotated[str, choice("job")]
    """The kind of file, `job`."""
    version: TextOrNumber = ""
    """The file's own version; informational."""
    contributor: Text = ""
    """The author of the file; informational."""
    description: Text = ""
    """A description of the job; informational."""
    prerequisites: Annotated[list[Prerequisite], NOT_EMPTY] = []
    """Images, data, scripts and outputs that task roles refer to by name."""
    parameters: dict[str, Any] = {}
    """Values for `<% $parameters.KEY %>` in commands."""
    secrets: Annotated[dict[str, Any], Validator(_secrets, {"type": "object"})] = {}
    """Values for `<% $secrets.KEY %>`, masked in everything stored or shown."""
    job_retry_count: Annotated[int, int_range(0)] = 0
    """How often to retry the whole job after a failure of unknown cause."""
    task_roles: Annotated[dict[RoleName, Role], NOT_EMPTY]
    """The task roles by name; their order decides ties."""
    deployments: Annotated[list[Deployment], NOT_EMPTY] = []
    """Sets of commands around those of task roles; one may be active."""
    defaults: Defaults = Defaults.of()
    """The active deployment and the virtual cluster."""
    extras: Extras = Extras.of()
    """Additions to the protocol, such as `slurm`."""
