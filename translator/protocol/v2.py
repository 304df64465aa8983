"""The job protocol v2 as OpenPAI's server accepts it: the keys of the file, before any meaning is given to them.

Source: PAI protocol v2 and the schema of PAI's rest-server, which decides where the two differ. Where both accept what
can only be a slip (a threshold of 0, `gangAllocation: "no"`), it is refused here, and the field says so.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

from pydantic import Field

from .extras import SlurmExtras  # noqa: TC001 - pydantic resolves annotations
from .fields import Boolean, Closed, Open, Text, TextOrNumber, checked, expected, one_of, whole, words

MOST_INSTANCES = 10_000
"""Source: frameworkcontroller, taskNumber maximum."""
Name = words(
    "a name of at most 255 letters (a-z, A-Z), digits, `_` and `-`",
    r"[a-zA-Z0-9_-]{1,255}",
    code="E204",
)
RoleName = words(
    "a role name of letters (a-z, A-Z), digits and `_` that does not begin with a digit",
    r"[a-zA-Z_][a-zA-Z0-9_]*",
    code="E204",
)
Label = words(
    "a port label of letters (a-z, A-Z), digits and `_` that does not begin with a digit",
    r"[a-zA-Z_][a-zA-Z0-9_]*",
    code="E204",
)
ImageUri = words("an image reference without blanks, `repository/image:tag`", r"[^\s\x00-\x20\x7f]+")
Int = whole()
Version = one_of(2, "2")


def _threshold(value: object) -> int | None:
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if number is None:
        return None
    if isinstance(number, int) and not isinstance(number, bool) and (number == -1 or 1 <= number < 2**31):
        return int(number)
    raise expected("-1 (never) or a whole number of at least 1")


Threshold = checked(Union[int, None], _threshold, {"type": ["integer", "null"], "minimum": -1, "not": {"const": 0}})
"""The server takes 0 and numbers below -1 too, and the controller then fails the job or counts them as left out."""


class _Described(Closed):
    """Informational keys that any prerequisite may have. Source: PAI protocol v2, prerequisites."""

    name: Name
    protocol_version: TextOrNumber = 2
    version: TextOrNumber = ""
    contributor: Text = ""
    description: Text = ""


class DockerImage(_Described):
    """A container image; the one prerequisite that is closed. Source: PAI protocol v2, prerequisites."""

    type: Literal["dockerimage"]
    uri: ImageUri
    auth: dict[str, Text] = {}


class Script(_Described):
    """A script or an output. Unknown keys are its plugin's. Source: PAI protocol v2, prerequisites; PAI issue 5145."""

    model_config = Open.model_config
    type: Literal["script", "output"]
    uri: Text = ""
    plugin: Text = ""
    require: list[Text] = []


class Data(_Described):
    """A data set, whose uri is a list. Unknown keys are its plugin's. Source: PAI protocol v2, prerequisites."""

    model_config = Open.model_config
    type: Literal["data"]
    uri: list[Text] = []
    plugin: Text = ""
    require: list[Text] = []


Prerequisite = Annotated[Union[DockerImage, Script, Data], Field(discriminator="type")]


class Completion(Closed):
    """When a role decides the job. null counts as left out. Source: PAI protocol v2, completion."""

    min_failed_instances: Threshold = None
    min_succeeded_instances: Threshold = None


class ContainerOptions(Open):
    """Size of /dev/shm in MiB, 0 for the default; `infiniband` may be any value. Source: PAI protocol v2."""

    shm_mb: Annotated[Int, Field(alias="shmMB")] = 0
    infiniband: Any = False


class Resources(Closed):
    """What one task may use; memory in MiB. No lower bounds: see `build.py` for what counts in place of 0 and less.

    Source: PAI protocol v2, resourcePerInstance; `ports` is a count for each label, not a port number.
    """

    cpu: Int
    memory_mb: Annotated[Int, Field(alias="memoryMB")]
    gpu: Int
    ports: Annotated[Union[dict[Label, Int], None], Field(min_length=1)] = None


class Role(Closed):
    """A task role. Source: PAI protocol v2, taskRoles; `protocolVersion` is tolerated by the server."""

    instances: whole(1, MOST_INSTANCES) = 1  # type: ignore[valid-type]
    completion: Completion = Completion()
    task_retry_count: whole(-2) = 0  # type: ignore[valid-type]
    prerequisites: list[Text] = []
    docker_image: Text
    data: Text = ""
    output: Text = ""
    script: Text = ""
    extra_container_options: ContainerOptions = ContainerOptions()
    resource_per_instance: Resources
    commands: Annotated[list[Text], Field(min_length=1)]
    protocol_version: Any = None


class DeploymentRole(Closed):
    """Commands around those of a role. Source: PAI protocol v2, deployments."""

    pre_commands: Annotated[list[Text], Field(min_length=1)] = []
    post_commands: Annotated[list[Text], Field(min_length=1)] = []


class Deployment(Open):
    """A named set of commands around those of roles. Source: PAI protocol v2, deployments."""

    name: Name
    task_roles: Annotated[dict[RoleName, DeploymentRole], Field(min_length=1)]


class Defaults(Open):
    """Which deployment is active, and the virtual cluster. Source: PAI protocol v2, defaults."""

    deployment: Text = ""
    virtual_cluster: Text = "default"


class Plugin(Open):
    """A runtime plugin. Source: PAI protocol v2, extras; `taskroles` is a filter."""

    plugin: Text
    parameters: Union[dict[str, Any], None] = None
    taskroles: Union[list[Text], None] = None


class Extras(Open):
    """What lies outside the protocol proper; any key may stand here.

    The server takes any `gangAllocation` and only `false` counts; here it has to be true or false.
    Source: PAI protocol v2, extras; this project's docs for `slurm`.
    """

    gang_allocation: Boolean = True
    plugins: Annotated[Union[list[Plugin], None], Field(alias="com.microsoft.pai.runtimeplugin")] = None
    slurm: Union[SlurmExtras, None] = None


class JobFile(Closed):
    """A job file. Source: PAI protocol v2."""

    protocol_version: Version
    name: Name
    type: one_of("job")  # type: ignore[valid-type]
    version: TextOrNumber = ""
    contributor: Text = ""
    description: Text = ""
    prerequisites: Annotated[list[Prerequisite], Field(min_length=1)] = []
    parameters: dict[str, Any] = {}
    secrets: dict[str, Any] = {}
    job_retry_count: whole(0) = 0  # type: ignore[valid-type]
    task_roles: Annotated[dict[RoleName, Role], Field(min_length=1)]
    deployments: Annotated[list[Deployment], Field(min_length=1)] = []
    defaults: Defaults = Defaults()
    extras: Extras = Extras()
