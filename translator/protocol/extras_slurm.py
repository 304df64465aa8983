"""The table `extras.slurm`: a job's own words to Slurm, none of which can break out of its `#SBATCH` line.

Source: this project's docs, `extras.slurm`; sbatch(1) for the forms of values.
"""

# ruff: noqa: RUF012 - nobody changes the defaults
from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_core import PydanticCustomError

from ..job import AS_LONG_AS_ALLOWED
from ..reading.document import SourceInt
from ..slurm_options import PASS_THROUGH, CompatOptions, Mpi, RoleSlurmOptions, SlurmOptions, is_plain
from ..times import seconds_of
from ..validation.schema_errors import hint_at_time
from ..validation.strict_model import (
    NOT_EMPTY,
    Boolean,
    StrictModel,
    Text,
    Validator,
    choice,
    expected,
    int_range,
    pattern,
)

_RESERVED_REASONS = """
    array chdir clusters comment container container-id cpus-per-gpu cpus-per-task distribution error export
    export-file get-user-env gid gpu-bind gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags
    help het-group hetjob hold ignore-pbs input job job-name mem mem-bind mem-per-cpu mem-per-gpu no-kill
    no-requeue nodefile nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket
    open-mode output overcommit parsable quiet requeue signal test-only time time-min tres-per-job
    tres-per-node tres-per-socket tres-per-task uid usage verbose version wait wait-all-nodes wrap
"""
RESERVED = frozenset((*_RESERVED_REASONS.split(), *PASS_THROUGH))
"""The sbatch options that the planner writes, or that would take the script from it. Source: sbatch(1)."""
OWN_KEYS = ("time", *PASS_THROUGH)
_MAX_TIME = 3650 * 24 * 3600
_TIME_FORMS = "a time limit: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*\*?"
_HOSTS = re.compile(r"(?:[A-Za-z0-9_.-]|\[[0-9,-]+\]|(?<=[^,]),(?=[^,]))+", re.ASCII)


def time_limit(value: object) -> timedelta:
    """Return a time limit in any of sbatch's forms. A number is minutes, however YAML reads `1:30:00`.

    Source: sbatch(1), --time.
    """
    text = value.text if isinstance(value, SourceInt) else str(value)
    if not isinstance(value, (str, int)) or isinstance(value, bool) or len(text) > len("99999-23:59:59"):
        raise expected(_TIME_FORMS)
    try:
        total = seconds_of(text)
    except ValueError:
        raise expected(_TIME_FORMS, hint_at_time(text)) from None
    if not 0 < total <= _MAX_TIME:
        raise expected("a time limit from one second to 3650 days")
    return timedelta(seconds=total)


def debug_hold(value: object) -> timedelta | None:
    """Return how long a failed task is held, None for not at all; as long as the site allows for `true`."""
    if isinstance(value, bool) or value is None:
        return AS_LONG_AS_ALLOWED if value else None
    try:
        return time_limit(value)
    except PydanticCustomError:
        raise expected("true, false or a time such as `30` (minutes) or `00:30:00`") from None


def sbatch_value(value: object) -> str:
    """Return a text that stands for itself in an `#SBATCH` line."""
    if not isinstance(value, str) or not value or not is_plain(value):
        raise expected("text without blanks, quotes, backslashes or `#`")
    return value


def host_list(value: object) -> str:
    """Return a list of hosts as Slurm writes them. Source: sbatch(1), --nodelist."""
    if not isinstance(value, str) or not _HOSTS.fullmatch(value) or value[0] in "-,":
        raise expected("a list of hosts such as `node[01-04],node7`")
    return value


def raw_option(value: object) -> str:
    """Return a raw sbatch option; one of ours is refused, and so is what sbatch takes for one.

    Source: sbatch(1); getopt_long(3) completes abbreviated names.
    """
    name, equals, setting = str(value).partition("=")
    plain = is_plain(setting) and (setting or not equals)
    if not isinstance(value, str) or not re.fullmatch(r"--[a-z][a-z0-9-]*", name) or not plain:
        raise expected("an sbatch option `--name` or `--name=value`, without blanks, quotes, backslashes or `#`")
    owned = sorted(option for option in RESERVED if option.startswith(name[2:]))
    if owned:
        full = name[2:] if name[2:] in owned else owned[0]
        hint = (
            f"write `{full}` under `extras.slurm` instead"
            if full in OWN_KEYS
            else "leave it out"
            if full == name[2:]
            else f"sbatch reads it as `--{full}`"
        )
        raise expected("an option that paislurm does not set itself", hint, 7)
    return value


def workdir(value: object) -> str:
    """Return where the commands start: `task`, `submit`, an absolute path, or `./` and a path from the submit on."""
    text = value if isinstance(value, str) else ""
    below = text.startswith("./") and ".." not in text.split("/")
    if text in ("task", "submit") or ((text.startswith("/") or below) and text.isprintable()):
        return text
    if text.startswith(("~", "$")):
        hint = f"the commands can go on from there: `cd {'~/' if text[0] == '~' else ''}data`"
    elif ".." in text.split("/"):
        hint = "`..` would lead out of the folder of the submit: write an absolute path"
    else:
        hint = "below the folder of the submit: `./data`"
    raise expected("`task`, `submit`, an absolute path, or one that begins with `./`", hint)


def export_env(value: object) -> tuple[str, ...] | None:
    """Return the variables that tasks get, beginnings with a `*`; None for all."""
    if value is True or value == "all":
        return None
    if value is False or value == "none":
        return ()
    what = "true, false or a list of names of variables"
    if not isinstance(value, list):
        raise expected(what)
    for name in value:
        if not isinstance(name, str) or not re.fullmatch(_VARIABLE, name, re.ASCII):
            hint = (
                "write `exportEnv: all`"
                if name == "*"
                else f"{name!r} is no name such as `LICENSE`, or `MY_*` for many"
            )
            raise expected(what, hint)
    return tuple(dict.fromkeys(value))


def log_pattern(value: object) -> str:
    """Return a regular expression that finds a number in a line of a log."""
    try:
        if isinstance(value, str) and value and "\n" not in value:
            re.compile(value)
            return value
        hint = ""
    except (re.error, RecursionError) as error:
        hint = f"{error}"
    raise expected("a regular expression such as `loss=([0-9.]+)`", hint)


SbatchText = Annotated[str, Validator(sbatch_value, {"type": "string", "pattern": r"^[^\s\"'`\\#]+$"})]
HostList = Annotated[str, Validator(host_list, {"type": "string"})]
Time = Annotated[timedelta, Validator(time_limit, {"type": ["string", "integer"]})]
DebugHold = Annotated[
    timedelta | None, Validator(debug_hold, {"type": ["boolean", "string", "integer"], "minimum": 1, "minLength": 1})
]
RawOption = Annotated[str, Validator(raw_option, {"type": "string", "pattern": "^--[a-z]"})]
Workdir = Annotated[str, Validator(workdir, {"type": "string", "pattern": r"^(?:task|submit|\.?/.*)$"})]
_NAMES = {"type": "array", "items": {"type": "string", "pattern": f"^{_VARIABLE}$"}}
ExportEnv = Annotated[
    tuple[str, ...], Validator(export_env, {"anyOf": [{"enum": [True, False, "all", "none"]}, _NAMES]})
]
Slots = Annotated[int, int_range(1)]
LogPattern = Annotated[str, Validator(log_pattern, {"type": "string", "minLength": 1})]
Plugin = Annotated[str, pattern("an MPI plugin of srun such as `pmix`", r"(?!none$)[a-z0-9_.]{1,32}")]
RanksPerInstance = Annotated[int, int_range(1, 1024)]


class SlurmCompat(StrictModel):
    """Choices between readings of OpenPAI. Source: this project's docs, `extras.slurm.compat`."""

    min_succeeded: Annotated[Literal["all", "instances"] | None, choice("all", "instances")] = None
    """What a role waits for that names no `minSucceededInstances`."""
    job_name: Annotated[Literal["plain", "full"] | None, choice("plain", "full")] = None
    """Whether `PAI_JOB_NAME` is `name` or `user~name`."""
    nounset: Boolean | None = None
    """Whether commands run with `set -u`, as on OpenPAI."""
    unresolved: Annotated[Literal["error", "keep"] | None, choice("error", "keep")] = None
    """Whether a reference to nothing is an error, or stays as it is."""
    exit_patterns: Annotated[Literal["fixed", "original"] | None, choice("fixed", "original")] = None
    """Whether logs are searched for OpenPAI's expressions as they were meant or as they were written."""
    gpu_type: Annotated[Literal["error", "any"] | None, choice("error", "any")] = None
    """Whether a type of GPU or node that the site does not have is an error, or any nodes will do."""

    def over(self, defaults: CompatOptions) -> CompatOptions:
        """Return the switches with the choices made here in place of the defaults."""
        return CompatOptions(
            min_succeeded=self.min_succeeded or defaults.min_succeeded,
            job_name=self.job_name or defaults.job_name,
            nounset=defaults.nounset if self.nounset is None else self.nounset,
            unresolved=self.unresolved or defaults.unresolved,
            exit_patterns=self.exit_patterns or defaults.exit_patterns,
            gpu_type=self.gpu_type or defaults.gpu_type,
        )


class SlurmMpi(StrictModel):
    """How srun starts the commands as ranks. Source: srun(1), --mpi."""

    plugin: Plugin = ""
    """The plugin of `srun --mpi`; left out, the site's first one."""
    ranks_per_instance: RanksPerInstance | None = None
    """How many ranks each instance is, which share its CPUs; left out, one."""


class SlurmMpiWorld(SlurmMpi):
    """Roles whose ranks are one world; all roles where it names none."""

    roles: Annotated[list[Text], NOT_EMPTY] | None = None
    """The roles that are one world together; left out, all."""


def _passed_on(name: str) -> Any:
    """Mark an option in `PASS_THROUGH` with its note."""
    return Field(description=PASS_THROUGH[name].note)


class SlurmRole(StrictModel):
    """Wishes of a role, or of a job for all its roles. Source: sbatch(1), options of these names."""

    # The type of an option that is passed on says how its value is checked.
    account: Annotated[SbatchText | None, _passed_on("account")] = None
    qos: Annotated[SbatchText | None, _passed_on("qos")] = None
    partition: Annotated[SbatchText | None, _passed_on("partition")] = None
    reservation: Annotated[SbatchText | None, _passed_on("reservation")] = None
    constraint: Annotated[SbatchText | None, _passed_on("constraint")] = None
    exclude: Annotated[HostList | None, _passed_on("exclude")] = None
    nodelist: Annotated[HostList | None, _passed_on("nodelist")] = None
    slots: Slots | None = None
    """How many tasks of a role run at a time, where gang allocation is off."""
    mpi: SlurmMpi | None = None
    """That srun itself starts the commands, as ranks of an MPI world."""
    workdir: Workdir | None = None
    """The folder in which the commands start, which is the task's own, that of the submit or one below it, or any
    other.
    """
    options: list[RawOption] = []
    """Raw sbatch options, `--name` or `--name=value`."""


class SlurmV1(StrictModel):
    """What protocol v1 can say and v2 cannot: `paislurm convert` puts it here. Source: PAI protocol v1."""

    retry_count: Annotated[int, int_range(-2, -1)] | None = None
    """In place of `jobRetryCount`, -1 for no limit and -2 for a restart after any end."""
    kill_all_on_completed_task_number: Annotated[int, int_range(1)] | None = None
    """How many succeeded tasks of all roles complete the job."""
    fixed_ports: dict[str, dict[str, Annotated[int, int_range(1, 65535)]]] = {}
    """For a role and a port label, the first of the ports on every node."""
    auth_file: Text = ""
    """A file with the server, user and password of the image's registry, a line each."""
    data_dir: Text | None = None
    """A path for `$PAI_DATA_DIR`."""
    output_dir: Text | None = None
    """A path for `$PAI_OUTPUT_DIR`; left out beside another one, a folder of the user and the job."""
    code_dir: Text | None = None
    """A folder that is copied into the working directory of every task, and its path for `$PAI_CODE_DIR`."""


class SlurmExtras(SlurmRole):
    """Wishes of the whole job. Source: this project's docs, `extras.slurm`."""

    mpi: SlurmMpiWorld | None = None
    """That srun itself starts the commands, as ranks of an MPI world."""
    time: Time | None = None
    """The time limit, in any of sbatch's forms (sbatch --time)."""
    layout: Annotated[Literal["het", "shared"] | None, choice("het", "shared")] = None
    """A component for each task role, or one allocation for all."""
    on_timeout: Annotated[Literal["fail", "retry"] | None, choice("fail", "retry")] = None
    """Whether a job that reaches its time limit is run again."""
    export_env: ExportEnv | None = None
    """Which variables of the submitting shell tasks get, all of them, none, or those that are listed."""
    is_debug: DebugHold | None = None
    """Whether a failed task is held, or for how long at most, in any of sbatch's forms of times."""
    result: LogPattern = ""
    """The regular expression that finds the result of the job in what its tasks print."""
    compat: SlurmCompat = SlurmCompat.of()
    """Choices between readings of OpenPAI."""
    task_roles: dict[str, SlurmRole] = {}
    """The same wishes for single task roles."""
    v1: SlurmV1 = SlurmV1.of()
    """What protocol v1 can say and v2 cannot."""


def wishes_of_job(slurm: SlurmExtras) -> SlurmOptions:
    """Return what the whole table `extras.slurm` asks for."""
    return SlurmOptions(
        job=slurm_options_of(slurm),
        layout=slurm.layout,
        on_timeout=slurm.on_timeout or "fail",
        export_env=slurm.export_env,
        result=slurm.result,
    )


def slurm_options_of(slurm_options: SlurmRole) -> RoleSlurmOptions:
    """Return what a table of `extras.slurm` asks for."""
    return RoleSlurmOptions(
        time=slurm_options.time if isinstance(slurm_options, SlurmExtras) else None,
        pass_through={name: value for name in PASS_THROUGH if (value := getattr(slurm_options, name)) is not None},
        slots=slurm_options.slots,
        mpi=_mpi(slurm_options.mpi) if slurm_options.mpi else None,
        options=tuple(slurm_options.options),
        workdir=slurm_options.workdir,
    )


def _mpi(requested: SlurmMpi) -> Mpi:
    roles = tuple(requested.roles) if isinstance(requested, SlurmMpiWorld) and requested.roles is not None else None
    return Mpi(plugin=requested.plugin, ranks=requested.ranks_per_instance or 0, roles=roles)
