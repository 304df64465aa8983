"""Validation of job files of protocol v1, and construction of the job.

Source: PAI protocol v1 in its three generations; PAI rest-server and launcher for further details.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...job import (
    AS_LONG_AS_ALLOWED,
    NEVER,
    Command,
    Completion,
    Directories,
    Image,
    Job,
    JobPaths,
    Lines,
    PortRequest,
    Resources,
    Role,
    RolePaths,
)
from ...slurm_options import RoleSlurmOptions
from ...validation.partial_model import placed
from ...validation.schema_errors import parse_model
from ..expressions.texts import js_string
from ..extras_slurm import SlurmExtras, options_of_job, slurm_options_of
from ..v2.semantic_checks import controller_name
from . import schema
from .semantic_checks import check_semantics_v1, warn_of_idle_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...reading.document import Path
    from ...slurm_options import CompatOptions
    from ...validation.diagnostics import DiagnosticCollector

DEFAULT_SHM_MIB = 64
"""Source: PAI rest-server, shmMB of protocol v1."""
_IMPLICIT_LABELS = ("http", "ssh")
"""Every task has one port of each. Source: PAI rest-server, portList of protocol v1."""
_REQUIRED: tuple[str, ...] = ("task_number", "cpu_number", "memory_mb", "gpu_number")
_REQUIRED_OF_PORTS = ("begin_at", "port_number")
_BARE_SHELL = re.compile(r"(?:exec )?(?:(?:/usr)?/bin/)?(?:ba|da|k|z)?sh(?: -[il]+)* ?;?")
UNUSED = "sleep infinity"
_PATHS = JobPaths(
    virtual_cluster="$.virtualCluster",
    images="$.image",
    retry_count="$.retryCount",
    directories="$",
    gang_allocation="",
)


def validate_v1(collector: DiagnosticCollector, switches: CompatOptions) -> Job:
    """Return the job of the collector's document. Raises `ProtocolError` with all errors."""
    file = parse_model(schema.JobFileV1, collector, wording=schema.WORDING)
    check_semantics_v1(file, collector)
    collector.refuse()
    slurm = file.extras.slurm or SlurmExtras.of()
    switches = slurm.compat.over(switches)
    variables = [(name, js_string(value) or "") for name, value in file.job_envs.items()]
    job = Job(
        protocol="1",
        paths=_PATHS,
        name=file.job_name,
        virtual_cluster=file.virtual_cluster or "default",
        retry_limit=file.retry_count,
        gang=True,
        roles=tuple(_role(position, file, collector) for position in range(len(file.task_roles))),
        slurm_options=options_of_job(slurm),
        compat=switches,
        min_succeeded=_min_succeeded(file, collector),
        variables=tuple(each for each in variables if _is_exportable(each[0])),
        program_variables=tuple(each for each in variables if not _is_exportable(each[0])),
        directories=Directories(data=file.data_dir, output=file.output_dir, code=file.code_dir),
        auth_file=file.auth_file,
        debug_hold=slurm.is_debug or (AS_LONG_AS_ALLOWED if _switch("isDebug", file, collector) else None),
        unset_threshold="",
    )
    warn_of_idle_options(slurm, collector)
    return job


def _role(position: int, file: schema.JobFileV1, collector: DiagnosticCollector) -> Role:
    role, path = file.task_roles[position], ("taskRoles", position)
    _warn_defaults(path, role, collector)
    if controller_name(role.name) != role.name and not re.fullmatch(r"\w+", role.name, re.ASCII):
        short = controller_name(role.name)
        message = f"`{role.name}` cannot be part of a variable name: " + (
            f"variables about this role contain `{short}` instead" if short else "the role has no variables"
        )
        collector.add("W335", (*path, "name"), message, hint="rename the role; use letters, digits and `_`")
    failed, succeeded = role.min_failed_task_count, role.min_succeeded_task_count
    slurm_options = (file.extras.slurm or SlurmExtras.of()).task_roles.get(role.name)
    span = collector.document.spans[path]
    return Role(
        name=role.name,
        controller_name=controller_name(role.name),
        instances=role.task_number,
        completion=Completion(
            min_failed=NEVER if failed is None else failed, min_succeeded=NEVER if succeeded is None else succeeded
        ),
        task_retry_limit=0,
        image=Image(name=file.image, uri=file.image),
        resources=Resources(
            cpus=role.cpu_number,
            memory_mib=role.memory_mb,
            gpus=role.gpu_number,
            shm_mib=role.shm_mb or DEFAULT_SHM_MIB,
            declared_shm_mib=DEFAULT_SHM_MIB if role.shm_mb is None else role.shm_mb,
            infiniband=_switch("paiAzRDMA", file, collector),
        ),
        ports=_ports(path, role, collector),
        command=_command(position, file, collector),
        slurm_options=slurm_options_of(slurm_options) if slurm_options else RoleSlurmOptions(),
        lines=Lines(first=span.line, last=span.last_line),
        paths=RolePaths(role=f"$.taskRoles[{position}]", infiniband="$.jobEnvs.paiAzRDMA", node_type="$.gpuType"),
        node_type=file.gpu_type or None,
    )


def _command(position: int, file: schema.JobFileV1, collector: DiagnosticCollector) -> Command:
    """Return the command, after what a job of 2017 relied on; replace a shell without input by an endless sleep."""
    path: Path = ("taskRoles", position)
    commands = [role.command for role in file.task_roles]
    before = prelude([role.name for role in file.task_roles], commands, position, has_code=bool(file.code_dir))
    text = commands[position]
    if _BARE_SHELL.fullmatch(" ".join(text.split())):
        message = f"`{text.strip()}` becomes `{UNUSED}`: on OpenPAI it waited at a terminal for ever"
        collector.add("W334", (*path, "command"), message, hint=f'write `"command": "{UNUSED}"` to make this explicit')
        text = UNUSED
    line = collector.document.location((*path, "command")).line
    lines = ((before.count("\n"), line),)
    return Command(text=before + text, errexit=False, nounset=False, pipefail=False, lines=lines)


def _ports(path: Path, role: schema.TaskRole, collector: DiagnosticCollector) -> tuple[PortRequest, ...]:
    """Return the ports of a task: the declared labels in their order, then http and ssh."""
    requests = {
        port.label: PortRequest(label=port.label, count=port.port_number, first=port.begin_at)
        for port in role.port_list
    }
    for position, label in enumerate(requests):
        if not re.fullmatch(r"\w+", label, re.ASCII):
            message = f"`{label}` cannot be part of a variable name: only the list of all ports contains these ports"
            hint = "rename the label; use letters, digits and `_`"
            collector.add("W335", (*path, "portList", position, "label"), message, hint=hint)
    for label in _IMPLICIT_LABELS:
        requests.setdefault(label, PortRequest(label=label, count=1))
    return tuple(requests.values())


def _warn_defaults(path: Path, role: schema.TaskRole, collector: DiagnosticCollector) -> None:
    """Warn of missing keys that the documentation requires."""
    wanted: list[tuple[Path, schema.TaskRole | schema.Port, tuple[str, ...]]] = [(path, role, _REQUIRED)]
    wanted += [(where, port, _REQUIRED_OF_PORTS) for where, port in placed((*path, "portList"), role.port_list)]
    for where, each, fields in wanted:
        absent = [
            f"`{each.key(field)}` counts as {getattr(each, field)}"
            for field in fields
            if field not in each.model_fields_set
        ]
        if absent:
            collector.add("W331", where, "missing keys have defaults: " + ", ".join(absent), hint="add them")


def _min_succeeded(file: schema.JobFileV1, collector: DiagnosticCollector) -> int:
    """Return how many succeeded tasks complete the job; 0, which only tasks see, or NEVER if the file has no number.

    Source: PAI protocol v1 of 2018; later servers ignored the key in favour of thresholds per role.
    """
    number, path = file.kill_all_on_completed_task_number, ("killAllOnCompletedTaskNumber",)
    if not number:
        return 0 if "kill_all_on_completed_task_number" in file.model_fields_set else NEVER
    tasks = sum(role.task_number for role in file.task_roles)
    for role in file.task_roles:
        if role.model_fields_set & {"min_failed_task_count", "min_succeeded_task_count"}:
            message = f"it has no effect, because the role `{role.name}` has its own threshold"
            hint = "remove either this, or `minFailedTaskCount` and `minSucceededTaskCount` of all roles"
            collector.add("W333", path, message, hint=hint, key=True)
            return NEVER
    if number > tasks:
        message = f"{number} tasks cannot succeed, because the job has {tasks}: it ends when all tasks have ended"
        collector.add("W333", path, message, hint=f"write at most {tasks}, or remove it", key=True)
    return number


_OF_BASH = re.compile(
    "BASHOPTS|BASHPID|BASH_(ALIASES|ARG[CV]|CMDS|COMMAND|LINENO|MONOSECONDS|SOURCE|VERSINFO)|DIRSTACK|"
    "EPOCH(REALTIME|SECONDS)|E?UID|FUNCNAME|GROUPS|HISTCMD|IFS|LINENO|PIPESTATUS|PPID|S?RANDOM|SHELLOPTS|_"
)
"""Variables that bash sets itself, whatever commands export, and IFS, which it does not take from its environment.

Source: bash(1), Shell Variables.
"""


def _is_exportable(name: str) -> bool:
    """Whether commands can export a variable of this name. Only `env` can pass any other one to a program.

    >>> _is_exportable("RATE"), _is_exportable("spark.executor.memory"), _is_exportable("UID")
    (True, False, False)
    """
    return name.isidentifier() and not _OF_BASH.fullmatch(name)


def _switch(name: str, file: schema.JobFileV1, collector: DiagnosticCollector) -> bool:
    """Whether a switch in `jobEnvs` is true; the text `true` counts."""
    value = file.job_envs.get(name)
    if isinstance(value, str) and value.lower() == "true":
        message = f"`{name}` is text: it counts as true here, but not on OpenPAI"
        collector.add("W332", ("jobEnvs", name), message, hint="write `true` without quotes")
        return True
    return value is True


_RENAMED = (
    *("JOB_NAME", "DATA_DIR", "OUTPUT_DIR", "CODE_DIR", "TASK_ROLE_NAME", "TASK_ROLE_NUM", "TASK_CPU_NUM"),
    *("TASK_MEM_MB", "TASK_GPU_NUM", "TASK_ROLE_INDEX", "TASK_INDEX", "TASKS_NUM", "TASK_ROLES_NUM"),
    *("KILL_ALL_ON_COMPLETED_TASK_NUM", "CURRENT_CONTAINER_IP", "CURRENT_CONTAINER_PORT"),
)
"""The variables that only changed their prefix."""
_BY_NUMBER = r"TASK_ROLE_(?:NO|[0-9]+_HOST_LIST)"
_USED = re.compile(rf"\b(?:(AII)_(?:{'|'.join(_RENAMED)}|{_BY_NUMBER})|(PAI)_{_BY_NUMBER})\b", re.ASCII)


def prelude(names: Sequence[str], commands: Sequence[str], position: int, *, has_code: bool) -> str:
    """Return lines of bash to run before the command of a role, "" if no command of the job uses these variables.

    `names` and `commands` are those of all roles.
    """
    lines = []
    for prefix in sorted({found[1] or found[2] for text in commands for found in _USED.finditer(text)}):
        words = [f"{prefix}_TASK_ROLE_NO={position}"]
        for number, name in enumerate(names):
            if str(number) not in names:
                part = name if re.fullmatch(r"\w+", name, re.ASCII) else controller_name(name)
                words.append(f'{prefix}_TASK_ROLE_{number}_HOST_LIST="${{PAI_TASK_ROLE_{part}_HOST_LIST-}}"')
        if prefix == "AII":
            words += [f'AII_{name}="${{PAI_{name}-}}"' for name in _RENAMED]
        lines.append(f"export {' '.join(words)}\n")
        if prefix == "AII" and has_code:
            lines.append('cd -- "$(basename -- "$PAI_CODE_DIR")" || exit\n')
    return "".join(lines)
