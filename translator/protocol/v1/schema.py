"""Mirror the job protocol v1 in its three generations, as OpenPAI's server accepted it.

What the documents call required and the server filled in has the server's default here, and a warning. Numbers may be
written as text, since the server converted them.
Source: PAI protocol v1 (2018, January 2019, May 2019); PAI rest-server, schema of protocol v1 jobs.
"""

# ruff: noqa: RUF012 - nobody changes the defaults
from __future__ import annotations

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
from ..extras_slurm import SlurmExtras
from ..overrides import NAME_PATTERN_V1, NAME_V1
from ..v2.schema import MAX_INSTANCES, ImageUri

_WORD = r"[A-Za-z0-9._~]{1,255}"
_Name = Annotated[str, name_pattern(NAME_V1, NAME_PATTERN_V1)]
_RoleName = Annotated[
    str, name_pattern("a role name of at most 255 letters (a-z, A-Z), digits, `.`, `_` and `~`", _WORD)
]
_Label = Annotated[str, name_pattern("a port label of at most 255 letters (a-z, A-Z), digits, `.`, `_` and `~`", _WORD)]
_VariableName = Annotated[str, name_pattern("the name of a variable: letters (a-z, A-Z), digits and `_`", r"\w+")]


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
    """Ports of every task under a label; `beginAt` 0 leaves their numbers to the system.

    Source: PAI protocol v1, portList.
    """

    label: _Label
    """What the ports are called in variables."""
    begin_at: Annotated[int, int_range(0, LAST_PORT, texts=True)] = 0
    """The first of the ports on every node, or 0 for any that are free."""
    port_number: Annotated[int, int_range(1, LAST_PORT, texts=True)] = 1
    """How many ports."""


class TaskRole(StrictModel):
    """A task role; memory in MiB. null for a threshold is never. Source: PAI protocol v1, taskRoles."""

    name: _RoleName
    """The name of the role."""
    task_number: Annotated[int, int_range(1, MAX_INSTANCES, texts=True)] = 1
    """The number of tasks of the role."""
    cpu_number: Annotated[int, int_range(1, texts=True)] = 1
    """CPUs of one task."""
    memory_mb: Annotated[int, int_range(100, texts=True), Field(alias="memoryMB")] = 100
    """Memory of one task in MiB."""
    shm_mb: Annotated[int | None, int_range(0, texts=True), Field(alias="shmMB")] = None
    """Size of /dev/shm in MiB, 64 where it is left out."""
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
    """What the server only stored; and our own table. Source: PAI protocol v1, extras; this project's docs."""

    slurm: SlurmExtras | None = None
    """The job's own words to Slurm."""


class JobFileV1(StrictModel):
    """A job file. Source: PAI protocol v1."""

    job_name: _Name
    """The job's name, unique among the user's live jobs."""
    image: ImageUri
    """The container image of all task roles."""
    auth_file: Text = ""
    """A file with the server, user and password of the image's registry, a line each."""
    data_dir: Text = ""
    """A path for `$PAI_DATA_DIR`."""
    output_dir: Text = ""
    """A path for `$PAI_OUTPUT_DIR`; left out, a folder of the user and the job on the default file system."""
    code_dir: Text = ""
    """A folder that is copied into the working directory of every task, and its path for `$PAI_CODE_DIR`."""
    virtual_cluster: Text = "default"
    """Where the job runs; the site profile maps it to a partition."""
    task_roles: Annotated[list[TaskRole], NOT_EMPTY]
    """The task roles, in the order that decides ties."""
    gpu_type: Text = ""
    """The type of GPU of the nodes."""
    kill_all_on_completed_task_number: Annotated[int, int_range(0, texts=True)] = 0
    """How many succeeded tasks of all roles complete the job; 0 for no such number."""
    retry_count: Annotated[int, int_range(-2, texts=True)] = 0
    """How often the whole job is run again after a failure of unknown cause; -1 for no limit, -2 for a restart after
    any end."""
    job_envs: dict[_VariableName, Scalar] = {}
    """Variables of all tasks, taken as they are written and set last."""
    extras: ExtrasV1 = ExtrasV1.of()
    """Whatever lies outside the protocol proper, `slurm` among it."""


WORDING = Wording(
    missing={
        "jobName": 'add `"jobName": "my_job"`',
        "image": 'name the container image of all roles: `"image": "repository/image:tag"`',
        "taskRoles": "add a role with its `name` and `command`",
        "name": "give the role a name, which no other role has",
        "command": "say what the tasks run, in one line of shell",
        "label": "give the ports a name",
    },
    elsewhere={
        **dict.fromkeys(("paiAzRDMA", "isDebug"), "it stands under `jobEnvs`"),
        **dict.fromkeys(
            ("taskNumber", "cpuNumber", "memoryMB", "gpuNumber", "shmMB", "portList", "command"),
            "it stands in each of the `taskRoles`",
        ),
        **dict.fromkeys(
            ("image", "dataDir", "outputDir", "codeDir", "authFile", "gpuType", "jobEnvs"),
            "it stands at the top of the file, for all roles",
        ),
        "name": "protocol v1 calls it `jobName`",
        "instances": "protocol v1 calls it `taskNumber`",
        "cpu": "protocol v1 calls it `cpuNumber`",
        "gpu": "protocol v1 calls it `gpuNumber`",
        "ports": "protocol v1 calls it `portList`",
        "commands": "protocol v1 has one `command`",
        "jobRetryCount": "protocol v1 calls it `retryCount`",
        "minFailedInstances": "protocol v1 calls it `minFailedTaskCount`",
        "minSucceededInstances": "protocol v1 calls it `minSucceededTaskCount`",
        "slurm": "it stands under `extras`",
    },
)
"""What to write for a key that is missing, and where or how a key is known that is not."""
