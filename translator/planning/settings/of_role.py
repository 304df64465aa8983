"""The settings of a task role. The script contains only those that differ from their default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ...job import NEVER, RESTART_ALWAYS
from ...site.slurm_version import SlurmVersion, slurm_version
from ..environment import names_peers
from ..preflight import preflight_words
from .setting import Row

if TYPE_CHECKING:
    from ..job_plan import Plan, RolePlan
    from ..layout.layout import Placement
    from .setting import Setting

_WHOLE_CORES = SlurmVersion(24, 11, 0)
"""From this version on allocations and steps count cores alike."""


class RoleOfPlan(Struct, frozen=True):
    """Hold a role and its plan."""

    role: RolePlan
    plan: Plan

    @property
    def in_container(self) -> bool:
        return self.plan.containers.runtime != "none"


OF_ROLE: tuple[Row[RoleOfPlan], ...] = (
    Row("ROLE_NAME", "name of the task role", lambda of: of.role.name, None, ("role",)),
    Row("INSTANCES", "tasks", lambda of: of.role.instances, "1", ("instances",)),
    Row(
        "SLOTS",
        "tasks that run at the same time",
        lambda of: of.role.slots,
        '"${PSL_INSTANCES[role]}"',
        ("instances", "slots"),
        "one for each task, or the number that runs at the same time",
        lambda of: of.role.instances,
    ),
    Row(
        "ROLE_FOLDER",
        "folder of its logs",
        lambda of: of.role.folder,
        '"$role-${PSL_ROLE_NAME[role]}"',
        ("role",),
        "the role's position and its name, if valid for a folder",
        lambda of: f"{of.role.position}-{of.role.name}",
    ),
    Row(
        "ROLE_ALIASES",
        "names of the role in variables and host names",
        lambda of: " ".join(of.role.variable_names),
        '"${PSL_ROLE_NAME[role]}"',
        ("role",),
        "the name, and OpenPAI's controller name for it: PAI rest-server, convertName",
        lambda of: of.role.name,
    ),
    Row("MIN_FAILED", "failed tasks that fail the job", lambda of: of.role.completion.min_failed, "1", ("min-failed",)),
    Row(
        "MIN_SUCCEEDED",
        "succeeded tasks that complete the job",
        lambda of: of.role.completion.min_succeeded,
        str(NEVER),
        ("min-succeeded",),
    ),
    Row(
        "TASK_RETRIES",
        f"retries of a failed task (-1: no limit, {RESTART_ALWAYS}: after success, too)",
        lambda of: of.role.task_retry_limit,
        "0",
        ("task-retries",),
    ),
    Row(
        "PLACEMENT",
        "node:slots; nodes count from 0",
        lambda of: placement_text(of.role.placement),
        "''",
        ("instances", "cpus", "memory", "gpus", "tasks-per-node"),
        "nodes of the allocation, and the slots on each",
    ),
    Row(
        "PORT_COUNTS",
        "ports of a task: label and number",
        lambda of: " ".join([f"{port.label}:{port.count}" for port in of.role.ports]),
        "'ssh:1 http:1'",
        ("ports",),
        "`ssh` and `http` are added: PAI rest-server, ports",
    ),
    Row(
        "FIXED_PORTS",
        "first port of each label with fixed ports",
        lambda of: " ".join([f"{port.label}:{port.first}" for port in of.role.ports if port.first]),
        None,
        ("ports",),
        "the first port of each label with fixed ports: PAI protocol v1, portList",
    ),
    Row(
        "NAMES_PEERS",
        "1: commands use variables about other tasks, so their bash reads all from a file",
        lambda of: int(not of.plan.environment.exports_all_peers and _names_peers(of.role)),
        None,
        ("instances", "ports", "commands"),
        "more tasks than a process inherits variables of",
    ),
    Row("ROLE_GPUS", "GPUs of a task", lambda of: of.role.resources.gpus, "0", ("gpus",)),
    Row(
        "REFERENCE_OF",
        "image: registry, repository, tag or digest",
        lambda of: _reference(of) if of.in_container else "",
        None,
        ("image",),
        "registry, name, and tag or digest; default `docker.io` and `latest`: Docker",
    ),
    Row(
        "IMAGE_OF",
        "image",
        lambda of: (of.role.image_plan.path or "") if of.in_container and not _reference(of) else "",
        None,
        ("image",),
        "the site profile, containers.images",
    ),
    Row(
        "SHM_OF",
        "MiB of /dev/shm",
        lambda of: of.role.resources.shm_mib if of.plan.containers.sizes_shm and of.in_container else 0,
        None,
        ("shm",),
    ),
    Row(
        "INFINIBAND_OF",
        "1: containers mount the InfiniBand devices",
        lambda of: int(of.in_container and of.role.resources.infiniband),
        None,
        ("infiniband",),
    ),
    Row(
        "INFINIBAND_CHECKS",
        "requirements checked on the nodes before tasks start",
        lambda of: " ".join(of.role.infiniband.checks) if of.role.infiniband else "",
        None,
        ("infiniband",),
        "the site profile, infiniband: requirements of nodes",
    ),
    Row(
        "PREFLIGHT",
        "checks of its nodes before tasks start",
        lambda of: preflight_words(of.role, of.plan.roles),
        None,
        ("preflight",),
        "the job file, and the site profile for keys that it leaves out: preflight",
    ),
    Row(
        "RANKS_OF",
        "MPI ranks of a task, which srun starts",
        lambda of: of.role.ranks,
        None,
        ("mpi",),
        "default of ranksPerInstance: one for each task",
    ),
    Row(
        "BINDING",
        "none: no binding; gpu: Slurm divides the GPUs; strict: a mismatch is an error",
        lambda of: _binding(dict(of.role.step_options), of.role.on_mismatch),
        None,
        ("binding",),
        "the job file, else the site profile, binding",
    ),
    Row(
        "ODD_CPUS",
        "1: before Slurm 24.11 a step may need more cores than its allocation, with two threads a core",
        lambda of: int(counts_half_cores(of)),
        None,
        ("cpus",),
        "an odd number of CPUs above 1, if Slurm is older than 24.11 or unknown",
    ),
    Row(
        "MPI_WORLD_OF",
        "positions of the roles of its MPI world",
        lambda of: " ".join(str(position) for position in of.role.mpi_world.roles) if of.role.mpi_world else "",
        None,
        ("mpi",),
        "the positions of the world's roles",
    ),
    Row(
        "WORKDIR",
        "where the commands start: task, submit, or a folder",
        lambda of: of.role.workdir,
        None,
        ("workdir",),
        "",
        lambda _: "task",
    ),
    Row(
        "PROGRESS",
        "stall guard: seconds without progress, warm-up, what follows, and its first role",
        lambda of: _progress(of.role),
        None,
        ("progress",),
    ),
    Row(
        "PROGRESS_FILE",
        "files whose size or time changes with progress",
        lambda of: of.role.progress.watched_file if of.role.progress else "",
        None,
        ("progress",),
    ),
    Row(
        "PROGRESS_COMMAND",
        "command whose output changes with progress",
        lambda of: of.role.progress.watched_command if of.role.progress else "",
        None,
        ("progress",),
    ),
    Row(
        "SHELL_OPTIONS",
        "options of the commands' bash",
        lambda of: _shell_options(of.role),
        "'-e -u -o pipefail'",
        ("nounset",),
    ),
    Row(
        "HOOKS_BEFORE",
        "hooks before the commands, in order",
        lambda of: " ".join(step.word for step in of.role.before),
        None,
        ("prerequisites", "plugins"),
        "each after what it requires, and plugins last: PAI issue 5145",
    ),
    Row(
        "HOOKS_AFTER",
        "hooks after the commands, in order",
        lambda of: " ".join(step.word for step in of.role.after),
        None,
        ("prerequisites", "plugins"),
        "the start order reversed: PAI runtime",
    ),
)


def role_settings(role: RolePlan, plan: Plan) -> list[Setting]:
    """Return the settings of a role that differ from their default."""
    of = RoleOfPlan(role, plan)
    return [setting for row in OF_ROLE if (setting := row.setting(of))]


def placement_text(placement: Placement) -> str:
    """Return nodes and their slots as the script reads them: `0-3:1 4:2`."""
    return " ".join(
        f"{nodes.first}:{nodes.slots}" if nodes.first == nodes.last else f"{nodes.first}-{nodes.last}:{nodes.slots}"
        for nodes in placement
    )


def _reference(of: RoleOfPlan) -> str:
    """Return registry, repository and version of an image, "" for an image with a path."""
    found = of.role.image_plan.reference
    return f"{found.registry} {found.repository} {found.version}" if found else ""


def _shell_options(role: RolePlan) -> str:
    command = role.command
    switches = (("-e", command.errexit), ("-u", command.nounset), ("-o pipefail", command.pipefail))
    return " ".join([option for option, wanted in switches if wanted])


def _progress(role: RolePlan) -> str:
    """Return the words of a stall guard; "" for none."""
    guard = role.progress
    if guard is None:
        return ""
    within, warm_up = (int(each.total_seconds()) for each in (guard.within, guard.warm_up))
    return f"{within} {warm_up} {guard.action} {role.progress_group}"


def counts_half_cores(of: RoleOfPlan) -> bool:
    """Return whether a step must share cores. Source: observed on 22.05 and 24.11, see `find_shared_cores`."""
    version = slurm_version(of.plan.slurm.version or "")
    started = [of.plan.roles[position] for position in of.role.mpi_world.roles] if of.role.mpi_world else [of.role]
    cpus = [int(dict(role.step_options)["cpus-per-task"] or 1) for role in started]
    return (version is None or version < _WHOLE_CORES) and any(count > 1 and count % 2 for count in cpus)


def _binding(options: dict[str, str | None], on_mismatch: str) -> str:
    """Return what the runtime leaves to Slurm or to the commands, threads and GPUs of a task, and what it checks."""
    is_off = options.get("cpu-bind") == options.get("mem-bind") == "none"
    has_gpu = bool({"gpu-bind", "tres-bind"} & options.keys())
    words = (("none", is_off), ("gpu", has_gpu), ("strict", on_mismatch == "error"))
    return " ".join(word for word, applies in words if applies)


def _names_peers(role: RolePlan) -> bool:
    texts = (role.command.text, *(hook.script.text for hook in (*role.before, *role.after)))
    return any(map(names_peers, texts))
