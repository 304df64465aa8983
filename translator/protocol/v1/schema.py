"""Mirror the job protocol v1 in its three generations, as OpenPAI's server accepted it.

What the documents call required and the server filled in has the server's default here, and a warning. Numbers may be
written as text, since the server converted them.
Source: PAI protocol v1 (2018, January 2019, May 2019); PAI rest-server, schema of protocol v1 jobs.
"""

# ruff: noqa: RUF012 - nobody changes the defaults
from __future__ import annotations

from typing import Annotated

from ...validation.marks import NOT_EMPTY, Key, Validator
from ...validation.schema_errors import Wording
from ...validation.strict_model import (
    LAST_PORT,
    MAX_INT,
    NUMBER_OR_TEXT,
    OpenModel,
    StrictModel,
    Text,
    expected,
    int_range,
    integer,
    number_of,
    pattern,
    positive,
)
from ..extras_slurm import SlurmExtras
from ..v2.schema import MAX_INSTANCES, ImageUri
from ..versions import NAME_PATTERN_V1, NAME_V1

_WORD = r"[A-Za-z0-9._~]{1,255}"
_Name = Annotated[str, pattern(NAME_V1, NAME_PATTERN_V1, number=4)]
_RoleName = Annotated[
    str, pattern("a role name of at most 255 letters (a-z, A-Z), digits, `.`, `_` and `~`", _WORD, number=4)
]
_Label = Annotated[
    str, pattern("a port label of at most 255 letters (a-z, A-Z), digits, `.`, `_` and `~`", _WORD, number=4)
]
_VariableName = Annotated[str, pattern("the name of a variable: letters (a-z, A-Z), digits and `_`", r"\w+", number=4)]


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
    begin_at: Annotated[int, int_range(0, LAST_PORT, texts=True)] = 0
    port_number: Annotated[int, int_range(1, LAST_PORT, texts=True)] = 1


class TaskRole(StrictModel):
    """A task role; memory in MiB. null for a threshold is never. Source: PAI protocol v1, taskRoles."""

    name: _RoleName
    task_number: Annotated[int, int_range(1, MAX_INSTANCES, texts=True)] = 1
    cpu_number: Annotated[int, int_range(1, texts=True)] = 1
    memory_mb: Annotated[int, int_range(100, texts=True), Key("memoryMB")] = 100
    shm_mb: Annotated[int | None, int_range(0, texts=True), Key("shmMB")] = None
    gpu_number: Annotated[int, int_range(0, texts=True)] = 0
    port_list: list[Port] = []
    command: Command
    min_failed_task_count: Threshold = 1
    min_succeeded_task_count: Threshold = None


class ExtrasV1(OpenModel):
    """What the server only stored; and our own table. Source: PAI protocol v1, extras; this project's docs."""

    slurm: SlurmExtras | None = None


class JobFileV1(StrictModel):
    """A job file. Source: PAI protocol v1."""

    job_name: _Name
    image: ImageUri
    auth_file: Text = ""
    data_dir: Text = ""
    output_dir: Text = ""
    code_dir: Text = ""
    virtual_cluster: Text = "default"
    task_roles: Annotated[list[TaskRole], NOT_EMPTY]
    gpu_type: Text = ""
    kill_all_on_completed_task_number: Annotated[int, int_range(0, texts=True)] = 0
    retry_count: Annotated[int, int_range(-2, texts=True)] = 0
    job_envs: dict[_VariableName, Scalar] = {}
    extras: ExtrasV1 = ExtrasV1()


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
