"""The job protocol v1 in its three generations, as OpenPAI's server accepted it.

Required keys that the server filled in have the server's default here, and cause a warning. Numbers may be
written as text, because the server converted them.
Source: PAI protocol v1 (2018, January 2019, May 2019); PAI rest-server, schema of protocol v1 jobs.
"""

# ruff: noqa: RUF012 - nothing modifies the defaults
from typing import Annotated

from pydantic import Field

from ...validation.schema_errors import Wording
from ...validation.strict_model import (
    LAST_PORT,
    MAX_INT,
    NOT_EMPTY,
    NUMBER_OR_TEXT,
    OpenModel,
    StrictModel,
    Text,
    Validator,
    expected,
    int_range,
    integer,
    name_pattern,
    number_of,
    positive,
)
from ..extras_slurm import SlurmExtras, VariableName
from ..overrides import NAME_PATTERN_V1, NAME_V1
from ..v2.schema import MAX_INSTANCES, ImageUri

_WORD = r"[A-Za-z0-9._~]{1,255}"
_Name = Annotated[str, name_pattern(NAME_V1, NAME_PATTERN_V1)]
_RoleName = Annotated[
    str, name_pattern("a role name of at most 255 letters (a-z, A-Z), digits, `.`, `_` and `~`", _WORD)
]
_Label = Annotated[str, name_pattern("a port label of at most 255 letters (a-z, A-Z), digits, `.`, `_` and `~`", _WORD)]


def _threshold(value: object) -> int | None:
    return None if value is None else positive(integer(number_of(value)), "null (never)")


def _command(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise expected("a shell command")
    return value


def _scalar(value: object) -> str | int | float | None:
    if value is not None and not isinstance(value, (str, int, float)):
        raise expected("text, a number, true or false")
    return value


_THRESHOLD = {**NUMBER_OR_TEXT, "type": ["integer", "string", "null"], "minimum": 1, "maximum": MAX_INT}
Threshold = Annotated[int | None, Validator(_threshold, _THRESHOLD)]
Command = Annotated[str, Validator(_command, {"type": "string", "pattern": r"\S"})]
Scalar = Annotated[str | int | float | None, Validator(_scalar, {"type": ["string", "number", "boolean", "null"]})]


class Port(StrictModel):
    """Ports of every task under one label; with `beginAt` 0 the system selects free ports.

    Source: PAI protocol v1, portList.
    """

    label: _Label
    """The name of the ports in variables."""
    begin_at: Annotated[int, int_range(0, LAST_PORT, texts=True)] = 0
    """The first port on every node; 0 for any free ports."""
    port_number: Annotated[int, int_range(1, LAST_PORT, texts=True)] = 1
    """The number of ports."""


class TaskRole(StrictModel):
    """A task role; memory in MiB. A threshold of null is never reached. Source: PAI protocol v1, taskRoles."""

    name: _RoleName
    """The name of the role."""
    task_number: Annotated[int, int_range(1, MAX_INSTANCES, texts=True)] = 1
    """The number of tasks of the role."""
    cpu_number: Annotated[int, int_range(1, texts=True)] = 1
    """CPUs of one task."""
    memory_mb: Annotated[int, int_range(100, texts=True), Field(alias="memoryMB")] = 100
    """Memory of one task in MiB."""
    shm_mb: Annotated[int | None, int_range(0, texts=True), Field(alias="shmMB")] = None
    """Size of /dev/shm in MiB. Default: 64."""
    gpu_number: Annotated[int, int_range(0, texts=True)] = 0
    """GPUs of one task."""
    port_list: list[Port] = []
    """Ports of one task, beside one each for `http` and `ssh`."""
    command: Command
    """The shell command that every task runs."""
    min_failed_task_count: Threshold = 1
    """How many failed tasks of the role fail the job; null for never."""
    min_succeeded_task_count: Threshold = None
    """How many succeeded tasks of the role complete the job; null for never."""


class ExtrasV1(OpenModel):
    """Keys that the server only stored, and `slurm`. Source: PAI protocol v1, extras; this project's docs."""

    slurm: SlurmExtras | None = None
    """The job's settings for Slurm."""


class JobFileV1(StrictModel):
    """A job file. Source: PAI protocol v1."""

    job_name: _Name
    """The job's name; none of the user's live jobs may have the same."""
    image: ImageUri
    """The container image of all task roles."""
    auth_file: Text = ""
    """A file with the server, user and password of the image's registry, one per line."""
    data_dir: Text = ""
    """A path for `$PAI_DATA_DIR`."""
    output_dir: Text = ""
    """A path for `$PAI_OUTPUT_DIR`. Default: a folder of the user and the job on the default file system."""
    code_dir: Text = ""
    """A folder to copy into the working directory of every task, and its path for `$PAI_CODE_DIR`."""
    virtual_cluster: Text = "default"
    """The virtual cluster; the site profile maps it to a partition."""
    task_roles: Annotated[list[TaskRole], NOT_EMPTY]
    """The task roles; their order decides ties."""
    gpu_type: Text = ""
    """The type of GPU of the nodes."""
    kill_all_on_completed_task_number: Annotated[int, int_range(0, texts=True)] = 0
    """How many succeeded tasks of all roles complete the job; 0: no number does."""
    retry_count: Annotated[int, int_range(-2, texts=True)] = 0
    """How often to retry the whole job after a failure of unknown cause; -1 for no limit, -2 for a restart after
    any end."""
    job_envs: dict[VariableName, Scalar] = {}
    """Variables of all tasks, unexpanded and set last."""
    extras: ExtrasV1 = ExtrasV1.of()
    """Additions to the protocol, such as `slurm`."""


WORDING = Wording(
    missing={
        "jobName": 'add `"jobName": "my_job"`',
        "image": 'name the container image of all roles: `"image": "repository/image:tag"`',
        "taskRoles": "add a role with its `name` and `command`",
        "name": "give the role a unique name",
        "command": "add the command of the tasks, in one line of shell",
        "label": "give the ports a name",
    },
    elsewhere={
        **dict.fromkeys(("paiAzRDMA", "isDebug"), "move it under `jobEnvs`"),
        **dict.fromkeys(
            ("taskNumber", "cpuNumber", "memoryMB", "gpuNumber", "shmMB", "portList", "command"),
            "move it into each of the `taskRoles`",
        ),
        **dict.fromkeys(
            ("image", "dataDir", "outputDir", "codeDir", "authFile", "gpuType", "jobEnvs"),
            "move it to the top of the file, for all roles",
        ),
        "name": "write `jobName`, as protocol v1 does",
        "instances": "write `taskNumber`, as protocol v1 does",
        "cpu": "write `cpuNumber`, as protocol v1 does",
        "gpu": "write `gpuNumber`, as protocol v1 does",
        "ports": "write `portList`, as protocol v1 does",
        "commands": "write a single `command`, as protocol v1 does",
        "jobRetryCount": "write `retryCount`, as protocol v1 does",
        "minFailedInstances": "write `minFailedTaskCount`, as protocol v1 does",
        "minSucceededInstances": "write `minSucceededTaskCount`, as protocol v1 does",
        "slurm": "move it under `extras`",
    },
)
"""Hints for missing keys, misplaced keys and keys of protocol v2."""
