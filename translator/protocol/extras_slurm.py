"""The mapping `extras.slurm`; none of its values can break out of its `#SBATCH` line.

Source: this project's docs, `extras.slurm`; sbatch(1) for the forms of values.
"""

# ruff: noqa: RUF012 - nothing modifies the defaults
import re
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_core import PydanticCustomError

from ..job import AS_LONG_AS_ALLOWED
from ..reading.document import SourceInt
from ..slurm_options import PASS_THROUGH, CompatOptions, Mpi, Preflight, RoleSlurmOptions, SlurmOptions, is_plain
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
    name_pattern,
    pattern,
)
from .binding import BindingChoice
from .preflight_schema import NO_PREFLIGHT, AvoidNodes, PreflightChoice, SlurmPreflight
from .progress import ProgressChoice
from .raw_options import sbatch_option, srun_option
from .retry_with import RetryWith, RetryWithOfRole

_MAX_TIME = 3650 * 24 * 3600
_TIME_FORMS = "a time limit: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*\*?"
VariableName = Annotated[
    str,
    name_pattern(
        "the name of a variable: letters (a-z, A-Z), digits, `_`, `.` and `-`", r"[A-Za-z0-9_.][A-Za-z0-9_.-]*"
    ),
]
_HOSTS = re.compile(r"(?:[A-Za-z0-9_.-]|\[[0-9,-]+\]|(?<=[^,]),(?=[^,]))+", re.ASCII)


def time_limit(value: object) -> timedelta:
    """Return a time limit in any of sbatch's formats. A number means minutes, whatever YAML makes of `1:30:00`.

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
    """Return how long to hold a failed task, None for no hold; `true` means as long as the site permits."""
    if isinstance(value, bool) or value is None:
        return AS_LONG_AS_ALLOWED if value else None
    try:
        return time_limit(value)
    except PydanticCustomError:
        raise expected("true, false or a time such as `30` (minutes) or `00:30:00`") from None


def sbatch_value(value: object) -> str:
    """Return a text that needs no quotes in an `#SBATCH` line."""
    if not isinstance(value, str) or not value or not is_plain(value):
        raise expected("text without blanks, quotes, backslashes or `#`")
    return value


def host_list(value: object) -> str:
    """Return a list of hosts in Slurm's syntax. Source: sbatch(1), --nodelist."""
    if not isinstance(value, str) or not _HOSTS.fullmatch(value) or value[0] in "-,":
        raise expected("a list of hosts such as `node[01-04],node7`")
    return value


def workdir(value: object) -> str:
    """Return the working directory: `task`, `submit`, an absolute path, or `./` and a path below `submit`."""
    text = value if isinstance(value, str) else ""
    below = text.startswith("./") and ".." not in text.split("/")
    if text in ("task", "submit") or ((text.startswith("/") or below) and text.isprintable()):
        return text
    if text.startswith(("~", "$")):
        hint = f"change the folder in the commands: `cd {'~/' if text[0] == '~' else ''}data`"
    elif ".." in text.split("/"):
        hint = "write an absolute path: `..` leads out of the submit folder"
    else:
        hint = "write `./data` for a folder below the submit folder"
    raise expected("`task`, `submit`, an absolute path, or one that begins with `./`", hint)


def export_env(value: object) -> tuple[str, ...] | None:
    """Return the variables to export to tasks; `*` ends a prefix. None exports all."""
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
                else f"{name!r} is not a name; write `LICENSE`, or `MY_*` for a prefix"
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


def checkpoints(value: object) -> str:
    """Return a pattern of paths: absolute, or below the submit folder."""
    if isinstance(value, str) and re.match(r"\.?/.", value) and value.isprintable():
        return value
    hint = "a relative path begins with `./`, below the submit folder; `~` and variables are not expanded"
    raise expected("a pattern of paths such as `/data/run7/*.pt` or `./checkpoints/*`", hint)


SbatchText = Annotated[str, Validator(sbatch_value, {"type": "string", "pattern": r"^[^\s\"'`\\#]+$"})]
HostList = Annotated[str, Validator(host_list, {"type": "string"})]
Time = Annotated[timedelta, Validator(time_limit, {"type": ["string", "integer"]})]
DebugHold = Annotated[
    timedelta | None, Validator(debug_hold, {"type": ["boolean", "string", "integer"], "minimum": 1, "minLength": 1})
]
SbatchOption = Annotated[str, Validator(sbatch_option, {"type": "string", "pattern": "^--[a-z]"})]
SrunOption = Annotated[str, Validator(srun_option, {"type": "string", "pattern": "^--[a-z]"})]
Workdir = Annotated[str, Validator(workdir, {"type": "string", "pattern": r"^(?:task|submit|\.?/.*)$"})]
_NAMES = {"type": "array", "items": {"type": "string", "pattern": f"^{_VARIABLE}$"}}
ExportEnv = Annotated[
    tuple[str, ...], Validator(export_env, {"anyOf": [{"enum": [True, False, "all", "none"]}, _NAMES]})
]
Slots = Annotated[int, int_range(1)]
TasksPerNode = Annotated[int, int_range(1)]
Checkpoints = Annotated[str, Validator(checkpoints, {"type": "string", "pattern": r"^\.?/."})]
Spare = Annotated[int, int_range(0)]
LogPattern = Annotated[str, Validator(log_pattern, {"type": "string", "minLength": 1})]
Plugin = Annotated[str, pattern("an MPI plugin of srun such as `pmix`", r"(?!none$)[a-z0-9_.]{1,32}")]
RanksPerInstance = Annotated[int, int_range(1, 1024)]


class SlurmCompat(StrictModel):
    """Choices between two readings of OpenPAI. Source: this project's docs, `extras.slurm.compat`."""

    min_succeeded: Annotated[Literal["all", "instances"] | None, choice("all", "instances")] = None
    """The threshold of a role without `minSucceededInstances`: all tasks of the job, or all tasks of the role."""
    job_name: Annotated[Literal["plain", "full"] | None, choice("plain", "full")] = None
    """Whether `PAI_JOB_NAME` is `name` or `user~name`."""
    nounset: Boolean | None = None
    """Whether commands run with `set -u`, as on OpenPAI."""
    unresolved: Annotated[Literal["error", "keep"] | None, choice("error", "keep")] = None
    """Whether an undefined reference is an error, or stays as text."""
    exit_patterns: Annotated[Literal["fixed", "original"] | None, choice("original", "fixed")] = None
    """Which expressions search the logs for the exit code: OpenPAI's as written, or also corrected ones."""
    background: Annotated[Literal["wait", "stop"] | None, choice("wait", "stop")] = None
    """Whether tasks wait for processes that successful commands leave in the background, as on OpenPAI."""
    gpu_type: Annotated[Literal["error", "any"] | None, choice("error", "any")] = None
    """Whether a node or GPU type that is not on the site is an error, or means any node."""

    def over(self, defaults: CompatOptions) -> CompatOptions:
        """Return the compat options, with `defaults` for those not set here."""
        return CompatOptions(
            min_succeeded=self.min_succeeded or defaults.min_succeeded,
            job_name=self.job_name or defaults.job_name,
            nounset=defaults.nounset if self.nounset is None else self.nounset,
            unresolved=self.unresolved or defaults.unresolved,
            exit_patterns=self.exit_patterns or defaults.exit_patterns,
            background=self.background or defaults.background,
            gpu_type=self.gpu_type or defaults.gpu_type,
        )


class SlurmMpi(StrictModel):
    """How srun starts the commands as ranks. Source: srun(1), --mpi."""

    plugin: Plugin = ""
    """The plugin of `srun --mpi`. Default: the site's first plugin."""
    ranks_per_instance: RanksPerInstance | None = None
    """How many ranks share the CPUs of an instance. Default: 1."""


class SlurmMpiWorld(SlurmMpi):
    """Roles whose ranks form one world. Default: all roles."""

    roles: Annotated[list[Text], NOT_EMPTY] | None = None
    """The roles that form one world. Default: all roles."""


def _passed_on(name: str) -> Any:
    """Mark an option in `PASS_THROUGH` with its note."""
    return Field(description=PASS_THROUGH[name].note)


class SlurmRole(StrictModel):
    """Settings of a role, or of a job for all its roles. Source: sbatch(1), options of these names."""

    # The type of a pass-through option checks its value.
    account: Annotated[SbatchText | None, _passed_on("account")] = None
    qos: Annotated[SbatchText | None, _passed_on("qos")] = None
    partition: Annotated[SbatchText | None, _passed_on("partition")] = None
    reservation: Annotated[SbatchText | None, _passed_on("reservation")] = None
    constraint: Annotated[SbatchText | None, _passed_on("constraint")] = None
    exclude: Annotated[HostList | None, _passed_on("exclude")] = None
    nodelist: Annotated[HostList | None, _passed_on("nodelist")] = None
    slots: Slots | None = None
    """How many tasks of a role run at a time without gang allocation."""
    tasks_per_node: TasksPerNode | None = None
    """The most tasks of a role on a node. Default: as many as fit."""
    mpi: SlurmMpi | None = None
    """A native launch: srun starts the commands as ranks of an MPI world."""
    binding: BindingChoice | None = None
    """What Slurm binds tasks to: `auto`, `none`, or options of srun."""
    workdir: Workdir | None = None
    """The working directory of the commands: `task`, `submit`, `./` and a path below it, or an absolute path."""
    progress: ProgressChoice | None = None
    """The stall guard: how long tasks may be without progress, and what follows; `false` for none."""
    preflight: PreflightChoice | None = None
    """Checks of the nodes before tasks start: `true` for the site's, or what to check."""
    retry_with: RetryWithOfRole | None = None
    """What the next attempt requests more of, by the cause of the last end."""
    options: list[SbatchOption] = []
    """Raw sbatch options, `--name` or `--name=value`."""
    srun: list[SrunOption] = []
    """Raw options of the srun that starts the tasks, such as `--cpu-bind=cores`."""


class SlurmV1(StrictModel):
    """Settings of protocol v1 that v2 lacks; `paislurm convert` writes them. Source: PAI protocol v1."""

    retry_count: Annotated[int, int_range(-2, -1)] | None = None
    """Overrides `jobRetryCount`: -1 for no limit, -2 for a restart after any end."""
    kill_all_on_completed_task_number: Annotated[int, int_range(0)] | None = None
    """How many succeeded tasks of all roles complete the job; 0: no number does."""
    job_envs: dict[VariableName, Text] = {}
    """Variables of all tasks that a command cannot export, such as `spark.executor.memory`."""
    fixed_ports: dict[str, dict[str, Annotated[int, int_range(1, 65535)]]] = {}
    """For a role and a port label, the first port on every node."""
    auth_file: Text = ""
    """A file with the server, user and password of the image's registry, one per line."""
    data_dir: Text | None = None
    """A path for `$PAI_DATA_DIR`."""
    output_dir: Text | None = None
    """A path for `$PAI_OUTPUT_DIR`. Default beside another path: a folder of the user and the job."""
    code_dir: Text | None = None
    """A folder to copy into the working directory of every task, and its path for `$PAI_CODE_DIR`."""


class SlurmResumes(StrictModel):
    """How the job continues after a failure. Source: this project's docs, `extras.slurm.resumes`."""

    file: Checkpoints = ""
    """The pattern of its checkpoints: an absolute path, or one that begins with `./`, below the submit folder."""
    log: LogPattern = ""
    """A regular expression that finds the progress in its output, `step ([0-9]+)`, or a line about continuing."""


class SlurmExtras(SlurmRole):
    """Settings of the whole job. Source: this project's docs, `extras.slurm`."""

    mpi: SlurmMpiWorld | None = None
    """A native launch: srun starts the commands as ranks of an MPI world."""
    time: Time | None = None
    """The time limit, in any format of sbatch (sbatch --time)."""
    layout: Annotated[Literal["het", "shared"] | None, choice("het", "shared")] = None
    """`het`: one component per task role; `shared`: one allocation for all roles."""
    spare: Spare = 0
    """How many nodes the job gets beyond those of its tasks, to replace lost nodes (sbatch --no-kill)."""
    requeue: Annotated[Literal["expedite"] | None, choice("expedite")] = None
    """`expedite`: after the loss of a node, Slurm restarts the job before all that wait (sbatch --requeue)."""
    on_timeout: Annotated[Literal["fail", "retry"] | None, choice("fail", "retry")] = None
    """Whether a job that reaches its time limit fails or is retried."""
    retry_with: RetryWith | None = None
    """What the next attempt requests more of, by the cause of the last end: memory or time."""
    export_env: ExportEnv | None = None
    """Which variables of the submitting shell to export to tasks: all, none, or a list."""
    is_debug: DebugHold | None = None
    """Whether to hold a failed task, or the longest hold time in any format of sbatch."""
    result: LogPattern = ""
    """A regular expression that finds the result of the job in the output of its tasks."""
    resumes: SlurmResumes = SlurmResumes.of()
    """Where the job continues after a failure: at its newest checkpoint."""
    avoid_nodes: AvoidNodes | None = None
    """Which nodes of the ledger of bad nodes to avoid."""
    compat: SlurmCompat = SlurmCompat.of()
    """Choices between two readings of OpenPAI."""
    task_roles: dict[str, SlurmRole] = {}
    """The same settings for single task roles."""
    v1: SlurmV1 = SlurmV1.of()
    """Settings of protocol v1 that v2 lacks."""


def options_of_job(slurm: SlurmExtras) -> SlurmOptions:
    """Return the settings of the whole mapping `extras.slurm`."""
    return SlurmOptions(
        job=slurm_options_of(slurm),
        layout=slurm.layout,
        spare=slurm.spare,
        requeue=slurm.requeue,
        on_timeout=slurm.on_timeout or "fail",
        export_env=slurm.export_env,
        result=slurm.result,
        checkpoints=slurm.resumes.file,
        progress_pattern=slurm.resumes.log,
        avoid_nodes=slurm.avoid_nodes.limits if slurm.avoid_nodes else None,
        more_time=slurm.retry_with.timeout.more if slurm.retry_with and slurm.retry_with.timeout else None,
    )


def slurm_options_of(slurm_options: SlurmRole) -> RoleSlurmOptions:
    """Return the settings of a role, or those of a job for all roles."""
    return RoleSlurmOptions(
        time=slurm_options.time if isinstance(slurm_options, SlurmExtras) else None,
        pass_through={name: value for name in PASS_THROUGH if (value := getattr(slurm_options, name)) is not None},
        slots=slurm_options.slots,
        tasks_per_node=slurm_options.tasks_per_node,
        mpi=_mpi(slurm_options.mpi) if slurm_options.mpi else None,
        binding=slurm_options.binding.step_options if slurm_options.binding else None,
        on_mismatch=slurm_options.binding.on_mismatch if slurm_options.binding else None,
        options=tuple(slurm_options.options),
        srun=tuple(slurm_options.srun),
        workdir=slurm_options.workdir,
        progress=slurm_options.progress.progress if slurm_options.progress else None,
        preflight=_preflight(slurm_options.preflight),
        more_memory=more.out_of_memory.more if (more := slurm_options.retry_with) and more.out_of_memory else None,
    )


def _preflight(requested: SlurmPreflight | None) -> Preflight | None:
    if requested is None:
        return None
    return Preflight(
        is_on=requested is not NO_PREFLIGHT,
        check=tuple(requested.check) if requested.check is not None else None,
        command=requested.command,
        pairs=requested.pairs,
        timeout_s=requested.timeout,
    )


def _mpi(requested: SlurmMpi) -> Mpi:
    roles = tuple(requested.roles) if isinstance(requested, SlurmMpiWorld) and requested.roles is not None else None
    return Mpi(plugin=requested.plugin, ranks=requested.ranks_per_instance or 0, roles=roles)
