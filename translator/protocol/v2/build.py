"""Construction of the job from a valid job file, with all defaults and with warnings.

Source: PAI protocol v2 and PAI rest-server for the defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...job import (
    EVENTS,
    NEVER,
    Command,
    Completion,
    Directories,
    Event,
    Image,
    Job,
    JobPaths,
    Lines,
    PortRequest,
    Resources,
    Role,
    RolePaths,
    Storage,
    Storages,
)
from ...plural import counted
from ...reading.document import path_text
from ...slurm_options import RoleSlurmOptions
from ...validation.partial_model import placed
from ...validation.strict_model import LAST_PORT
from ..extras_slurm import SlurmExtras, options_of_job, slurm_options_of
from .extras_schema import PLUGINS
from .semantic_checks import DEFAULT_SHM_MIB, controller_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...job import Hooks
    from ...reading.document import Path
    from ...slurm_options import CompatOptions
    from ...validation.diagnostics import DiagnosticCollector
    from ..expressions.command_builder import BuiltCommand
    from ..extras_slurm import SlurmV1
    from ..v2 import schema
    from .extras_schema import Extras
    from .prerequisite_index import PrerequisiteIndex


_IMPLICIT_LABELS = ("ssh", "http")
"""Every task has one port of each. Source: PAI rest-server, getPortList."""
_PATHS = JobPaths(
    virtual_cluster="$.defaults.virtualCluster",
    images="$.prerequisites",
    retry_count="$.extras.slurm.v1.retryCount",
    directories="$.extras.slurm.v1",
    gang_allocation="$.extras.gangAllocation",
)


def build(
    file: schema.JobFile,
    index: PrerequisiteIndex,
    commands: Mapping[str, BuiltCommand],
    hooks_by_role: Mapping[str, Hooks],
    switches: CompatOptions,
    collector: DiagnosticCollector,
) -> Job:
    """Return the job of a file; `commands` and `hooks_by_role` are those of its roles."""
    slurm = file.extras.slurm or SlurmExtras.of()
    return Job(
        protocol="2",
        paths=_PATHS,
        name=file.name,
        virtual_cluster=file.defaults.virtual_cluster,
        retry_limit=file.job_retry_count,
        gang=file.extras.gang_allocation,
        roles=tuple(
            _role(name, commands[name], hooks_by_role[name], _RoleInputs(file, index, switches, collector))
            for name in file.task_roles
        ),
        slurm_options=options_of_job(slurm),
        storages=_storages(file, collector),
        priority=file.extras.hived_scheduler.job_priority_class if file.extras.hived_scheduler else None,
        notify=_notify(file.extras),
        compat=switches,
        debug_hold=slurm.is_debug,
    )


def _notify(extras: Extras) -> tuple[Event, ...]:
    """Return the events that notify the user. The server accepts any value. Source: PAI protocol v2, extras."""
    wanted = extras.job_status_change_notification
    return tuple(event for event in EVENTS if isinstance(wanted, dict) and wanted.get(event))


class _RoleInputs(NamedTuple):
    file: schema.JobFile
    prerequisites: PrerequisiteIndex
    switches: CompatOptions
    collector: DiagnosticCollector


def _role(name: str, command: BuiltCommand, hooks: Hooks, reading: _RoleInputs) -> Role:
    file, index, switches, collector = reading
    role, path, slurm = file.task_roles[name], ("taskRoles", name), file.extras.slurm
    slurm_options = slurm.task_roles.get(name) if slurm else None
    image = index.find("dockerimage", role.docker_image)
    if file.extras.gang_allocation and role.task_retry_count != 0:
        message = "`taskRetryCount` has no effect while all tasks of the job start together"
        hint = "write `gangAllocation: false` under `extras` to retry single tasks"
        collector.add("W301", (*path, "taskRetryCount"), message, hint=hint)
    span = collector.document.spans[path]
    return Role(
        name=name,
        controller_name=controller_name(name),
        instances=role.instances,
        completion=_completion(role, path, switches, collector),
        task_retry_limit=role.task_retry_count,
        image=Image(name=role.docker_image, uri=str(image[1].uri) if image else ""),
        resources=_resources(role),
        ports=_ports(role, path, collector),
        command=Command(text=command.text, errexit=True, nounset=switches.nounset, pipefail=True, lines=command.lines),
        hooks=hooks,
        slurm_options=slurm_options_of(slurm_options) if slurm_options else RoleSlurmOptions(),
        lines=Lines(first=span.key_line, last=max(span.key_line, span.last_line)),
        paths=RolePaths(
            role=f"$.taskRoles.{name}",
            infiniband=f"$.taskRoles.{name}.extraContainerOptions.infiniband",
            node_type=f"$.extras.hivedScheduler.taskRoles.{name}",
        ),
        node_type=_node_type(name, file, collector),
    )


def _node_type(name: str, file: schema.JobFile, collector: DiagnosticCollector) -> str | None:
    """Return the SKU or the pinned cell of a role; a role cannot have both."""
    wanted = file.extras.hived_scheduler.task_roles.get(name) if file.extras.hived_scheduler else None
    if wanted is None:
        return None
    if wanted.sku_type and wanted.pinned_cell_id:
        path: Path = ("extras", "hivedScheduler", "taskRoles", name, "pinnedCellId")
        message = "`skuType` and `pinnedCellId` both select the nodes of the role"
        collector.add("E318", path, message, hint="remove one of them", key=True)
    return wanted.pinned_cell_id or wanted.sku_type or None


def _storages(file: schema.JobFile, collector: DiagnosticCollector) -> Storages | None:
    """Return the storages of a job: those of `extras`, else those of the older plugin.

    Source: PAI rest-server, which converted the plugin's.
    """
    path: Path = ("extras", "storages")
    if file.extras.storages is not None:
        named = [(each.name, each.mount_path) for each in file.extras.storages if each.name]
        if file.extras.storages and not named:
            return None
        return _storages_at(path, {name: mount or f"/mnt/{name}" for name, mount in named}, collector)
    for where, plugin in placed(("extras", PLUGINS), file.extras.plugins):
        if plugin.plugin == "teamwise_storage":
            from .plugin_parameters import TeamwiseStorage

            names = TeamwiseStorage.model_validate(plugin.parameters or {}).storage_config_names
            return _storages_at(where, {name: f"/mnt/{name}" for name in names}, collector)
    return None


def _storages_at(path: Path, wanted: Mapping[str, str], collector: DiagnosticCollector) -> Storages:
    span = collector.document.spans[path]
    return Storages(
        wanted=tuple(Storage(name=name, mount_path=mount) for name, mount in wanted.items()),
        lines=Lines(first=span.key_line, last=max(span.key_line, span.last_line)),
        path=path_text(path),
    )


def _completion(role: schema.Role, path: Path, switches: CompatOptions, collector: DiagnosticCollector) -> Completion:
    """Return the thresholds. Defaults: 1 failed task, and no number of succeeded tasks."""
    thresholds = role.completion
    for field in sorted(thresholds.model_fields_set):
        key, value = thresholds.key(field), getattr(thresholds, field)
        where: Path = (*path, "completion", key)
        if value is None:
            collector.add(
                "W201", where, f"`{key}` has no value; the default applies", hint="write -1 for never", key=True
            )
        elif value > role.instances:
            tasks = counted(role.instances, "task")
            message = f"`{key}: {value}` is never reached: the role has {tasks}"
            collector.add("W203", where, message, hint=f"write a number from 1 to {role.instances}, or -1 for never")
    default = NEVER if switches.min_succeeded == "all" else role.instances
    failed, succeeded = thresholds.min_failed_instances, thresholds.min_succeeded_instances
    return Completion(
        min_failed=1 if failed is None else failed, min_succeeded=default if succeeded is None else succeeded
    )


def _resources(role: schema.Role) -> Resources:
    """Return the resources of a task: at least one CPU, and nothing below zero."""
    wanted, options = role.resource_per_instance, role.extra_container_options
    shm = max(options.shm_mb, 0)
    return Resources(
        cpus=max(wanted.cpu, 1),
        memory_mib=max(wanted.memory_mb, 0),
        gpus=max(wanted.gpu, 0),
        shm_mib=shm or DEFAULT_SHM_MIB,
        declared_shm_mib=shm,
        infiniband=bool(options.infiniband),
    )


_MOST_USUAL_PORTS = 20
"""More ports than that are probably the number of a port, such as 22 or 8080."""


def _ports(role: schema.Role, path: Path, collector: DiagnosticCollector) -> tuple[PortRequest, ...]:
    """Return the ports of a task: the declared labels in their order, then ssh and http."""
    declared = role.resource_per_instance.ports or {}
    counts: dict[str, int] = {}
    for label, count in declared.items():
        counts[label] = count if count > 0 else int(label in _IMPLICIT_LABELS)
        if 0 < count <= _MOST_USUAL_PORTS:
            continue
        without = "one port, which every task has" if counts[label] else "no port"
        meaning = f"{count} ports for each task" if count > 0 else without
        message = f"`{label}: {count}` means {meaning}: the number is a count of ports"
        where: Path = (*path, "resourcePerInstance", "ports", label)
        collector.add("W208", where, message, hint="write the number of ports, or remove the label")
    for label in _IMPLICIT_LABELS:
        counts.setdefault(label, 1)
    return tuple(PortRequest(label=label, count=count) for label, count in counts.items() if count)


_TABLE: Path = ("extras", "slurm", "v1")


def with_v1(job: Job, table: SlurmV1, collector: DiagnosticCollector) -> Job:
    """Return the job with the settings of `v1`; diagnostics go to the collector."""
    paths = (table.data_dir, table.output_dir, table.code_dir)
    data, output, code = (path or "" for path in paths)
    return replace(
        job,
        retry_limit=job.retry_limit if table.retry_count is None else table.retry_count,
        min_succeeded=(
            NEVER if table.kill_all_on_completed_task_number is None else table.kill_all_on_completed_task_number
        ),
        program_variables=tuple(table.job_envs.items()),
        directories=None if paths == (None, None, None) else Directories(data=data, output=output, code=code),
        auth_file=table.auth_file,
        roles=tuple(_with_ports(role, table.fixed_ports.get(role.name, {}), collector) for role in job.roles),
    )


def _with_ports(role: Role, fixed: dict[str, int], collector: DiagnosticCollector) -> Role:
    taken: set[int] = set()
    counts = {port.label: port.count for port in role.ports}
    for label, first in fixed.items():
        path = (*_TABLE, "fixedPorts", role.name, label)
        if label not in counts:
            message = f"the role `{role.name}` has no port label `{label}`"
            collector.add("E335", path, message, near=(label, counts), key=True)
            continue
        numbers = range(first, first + counts[label])
        if numbers[-1] > LAST_PORT or not taken.isdisjoint(numbers):
            message = f"the fixed ports from {first} to {numbers[-1]} overlap others or are out of range"
            collector.add("E334", path, message, hint="use each port number only once")
        taken.update(numbers)
    if not fixed:
        return role
    return replace(role, ports=tuple(replace(port, first=fixed.get(port.label, 0)) for port in role.ports))
