"""The variables of tasks that are known before the job runs, and whether tasks inherit those about each other.

`templates/runtime/batch/environment.sh` adds those that depend on nodes, ports, users or attempts.
A task always has the variables about itself. Those about all tasks are exported whole or not at all; the file
`$PAISLURM_PEERS` has them.
Source: OpenPAI environment variables, protocol v1 and v2; PAI protocol v1, dataDir, outputDir and codeDir; PAI
rest-server, which expanded only these names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..errors import Diagnostic
from ..job import NEVER
from .job_plan import EnvironmentPlan, NodePlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..job import Directories, Job, Role
    from ..site.profile import Site

Variables = tuple[tuple[str, str], ...]
_FILE_SYSTEM = "$PAI_DEFAULT_FS_URI"
DEFAULT_OUTPUT = f"{_FILE_SYSTEM}/Output/$PAI_USER_NAME/$PAI_JOB_NAME"
"""Source: PAI rest-server, outputDir of protocol v1; its documentation omits the user."""
_JOB = re.compile(r"\$PAI_JOB_NAME(?!\w)", re.ASCII)
_USER = re.compile(r"\$PAI_USER_?NAME(?!\w)", re.ASCII)

Paths = tuple[tuple[str, tuple[str, ...]], ...]
MAX_PEER_VARIABLES = 2000
"""The most exported variables about all tasks: the time of bash for each command grows with the square of their number.

Source: variables.c of bash, maybe_make_export_env.
"""
MAX_PEER_BYTES = 96 << 10
"""The most bytes of them in an environment: horovodrun passes all of one in an argument of at most 128 KiB."""
_ADDRESS, _PORT = len("255.255.255.255"), len(",65535")
_PEER_VARIABLE = re.compile(r"PAI_(HOST_IP|PORT_LIST)_|PAI_TASK_ROLE_(\w+_HOST_LIST|INSTANCES)|PAI_\w+_PORT\b")
_OWN_VARIABLE = re.compile(r"PAI_(CONTAINER|CURRENT)_\w+_PORT\b")
SECOND_NAMES = frozenset(
    {
        "PAI_VIRTUAL_CLUSTER",
        "PAI_TASKS_NUM",
        "PAI_JOB_TASK_ROLE_COUNT",
        "PAI_TASK_ROLES_NUM",
        "PAI_JOB_TASK_ROLE_LIST",
        "PAI_TASK_ROLE_NAME",
        "FC_TASKROLE_NAME",
        "PAI_TASK_ROLE_NUM",
        "PAI_TASK_CPU_NUM",
        "PAI_TASK_MEM_MB",
        "PAI_TASK_GPU_NUM",
    }
)
"""Variables with the same meaning as the one before; with the same value too, they share its line in the script."""
_PART = re.compile(r"\w+", re.ASCII)
"""A part of the name of a shell variable."""


def environment_plan(job: Job, site: Site) -> EnvironmentPlan:
    """Return the known variables of a job's tasks."""
    paths = path_variables(job, site)
    return EnvironmentPlan(
        of_job=job_variables(job, site),
        paths=paths,
        of_commands=job.variables,
        of_programs=tuple(f"{name}={value}" for name, value in job.program_variables),
        exported=job.slurm_options.export_env,
        makes_output=bool(paths and not (job.directories and job.directories.output) and site.default_file_system),
        full_job_name=job.compat.job_name == "full",
        exports_all_peers=exports_all(job),
    )


def node_plan(job: Job, site: Site) -> NodePlan:
    """Return the properties of the nodes. The gres name of GPUs may differ from `gpu`: gres.conf(5), Name."""
    has_gpus = any(role.resources.gpus for role in job.roles)
    return NodePlan(
        address=site.address.method,
        node_suffix=site.address.suffix or None,
        first_port=site.ports.first,
        last_port=site.ports.last,
        gpu_vendor=site.gpus.vendor,
        gpu_gres=site.gpus.gres if has_gpus and site.gpus.gres != "gpu" else None,
        sysfs=site.infiniband.sysfs if site.infiniband else None,
        gid_index=site.infiniband.gid_index if site.infiniband else None,
    )


def job_variables(job: Job, site: Site) -> Variables:
    """Return the variables of every task of every role, in the order of their export."""
    names = ",".join(role.name for role in job.roles)
    tasks, roles = str(job.task_count), str(len(job.roles))
    variables = [
        ("PAI_JOB_NAME", job.name),
        ("PAI_JOB_VC_NAME", job.virtual_cluster),
        ("PAI_VIRTUAL_CLUSTER", job.virtual_cluster),
        ("PAI_DEFAULT_FS_URI", site.default_file_system),
        ("PAI_JOB_TASK_COUNT", tasks),
        ("PAI_TASKS_NUM", tasks),
        ("PAI_TASK_ROLE_COUNT", roles),
        ("PAI_JOB_TASK_ROLE_COUNT", roles),
        ("PAI_TASK_ROLES_NUM", roles),
        ("PAI_TASK_ROLE_LIST", names),
        ("PAI_JOB_TASK_ROLE_LIST", names),
    ]
    if job.min_succeeded != NEVER:
        variables.append(("PAI_KILL_ALL_ON_COMPLETED_TASK_NUM", str(job.min_succeeded)))
    for role, names_of_role in zip(job.roles, variable_names(job), strict=True):
        if not names_of_role:
            continue
        name = names_of_role[0]
        resources = role.resources
        amounts = (resources.gpus, resources.cpus, resources.memory_mib, resources.declared_shm_mib)
        variables += [
            (f"PAI_TASK_ROLE_TASK_COUNT_{name}", str(role.instances)),
            (f"PAI_RESOURCE_{name}", ",".join(str(amount) for amount in amounts)),
            (f"PAI_MIN_FAILED_TASK_COUNT_{name}", _threshold(job, role.completion.min_failed)),
            (f"PAI_MIN_SUCCEEDED_TASK_COUNT_{name}", _threshold(job, role.completion.min_succeeded)),
        ]
    return tuple(variables)


def _threshold(job: Job, threshold: int) -> str:
    return job.unset_threshold if threshold == NEVER else str(threshold)


def role_variables(job: Job, role: Role) -> Variables:
    """Return the variables of every task of one role."""
    resources, completion = role.resources, role.completion
    instances, cpus, memory = str(role.instances), str(resources.cpus), str(resources.memory_mib)
    gpus = str(resources.gpus)
    return (
        ("PAI_CURRENT_TASK_ROLE_NAME", role.name),
        ("PAI_TASK_ROLE_NAME", role.name),
        ("FC_TASKROLE_NAME", role.controller_name),
        ("PAI_CURRENT_TASK_ROLE_TASK_COUNT", instances),
        ("PAI_TASK_ROLE_NUM", instances),
        ("PAI_CURRENT_TASK_ROLE_CPU_COUNT", cpus),
        ("PAI_TASK_CPU_NUM", cpus),
        ("PAI_CURRENT_TASK_ROLE_MEM_MB", memory),
        ("PAI_TASK_MEM_MB", memory),
        ("PAI_CURRENT_TASK_ROLE_GPU_COUNT", gpus),
        ("PAI_TASK_GPU_NUM", gpus),
        ("PAI_CURRENT_TASK_ROLE_SHM_MB", str(resources.shm_mib)),
        ("PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT", _threshold(job, completion.min_failed)),
        ("PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT", _threshold(job, completion.min_succeeded)),
    )


def variable_names(job: Job) -> tuple[tuple[str, ...], ...]:
    """Return the names of each role in variables of tasks: its own, and OpenPAI's controller name.

    The second is left out if it is the same, or another role's own name. The first is left out if it cannot be part of
    a variable name, such as a name of protocol v1 with a `.`.
    """
    taken = {"", *(role.name for role in job.roles)}
    return tuple(
        (
            *((role.name,) if _PART.fullmatch(role.name) else ()),
            *((role.controller_name,) if role.controller_name not in taken else ()),
        )
        for role in job.roles
    )


def path_variables(job: Job, site: Site) -> Paths:
    """Return the paths of a job of protocol v1, each split where the user's name goes."""
    texts = _texts(job.directories) if job.directories else {}
    texts |= {"output": texts["output"] or DEFAULT_OUTPUT} if texts else {}
    return tuple((f"PAI_{kind.upper()}_DIR", parts(text, job, site)) for kind, text in texts.items())


def path_warnings(job: Job, site: Site) -> tuple[Diagnostic, ...]:
    """Warn of paths on a file system that the site profile does not name."""
    texts = _texts(job.directories) if job.directories and not site.default_file_system else {}
    keys = [f"{kind}Dir" for kind, text in texts.items() if _FILE_SYSTEM in text]
    if not keys:
        return ()
    message = f"`{_FILE_SYSTEM}` in {', '.join(keys)} is empty: the site profile has no default file system"
    hint = (
        "write `defaultFileSystem: hdfs://host:port` or the path of a folder in the site profile, or use absolute paths"
    )
    return (Diagnostic(code="W422", message=message, path=f"{job.paths.directories}.{keys[0]}", hint=hint),)


def _texts(directories: Directories) -> dict[str, str]:
    return {"data": directories.data, "output": directories.output, "code": directories.code}


def parts(text: str, job: Job, site: Site) -> tuple[str, ...]:
    """Return a path split where the user's name goes. Only a file system at its start is expanded."""
    text = text.replace(_FILE_SYSTEM, site.default_file_system, 1)
    return tuple(_USER.split(_JOB.sub(lambda _: job.name, text)))


def exports_all(job: Job) -> bool:
    """Return whether tasks inherit the variables about all tasks, even with the longest IPv4 addresses and ports."""
    sizes = list(_peer_sizes(job))
    return (
        sum(count for count, _ in sizes) <= MAX_PEER_VARIABLES
        and sum(count * size for count, size in sizes) <= MAX_PEER_BYTES
    )


def _peer_sizes(job: Job) -> Iterator[tuple[int, int]]:
    """Yield the variables about all tasks, as counts and the most bytes of each: NAME=VALUE and a NUL."""
    instances = len("PAI_TASK_ROLE_INSTANCES=")
    for position, (role, names) in enumerate(zip(job.roles, variable_names(job), strict=True)):
        index = str(role.instances - 1)
        for name in names:
            yield role.instances, len(f"PAI_HOST_IP_{name}_{index}=") + _ADDRESS + 1
            for port in role.ports:
                if {".", "~"} & set(port.label):
                    continue
                value = port.count * _PORT
                yield role.instances, len(f"PAI_PORT_LIST_{name}_{index}_{port.label}=") + value
                yield role.instances, len(f"PAI_{name}_{index}_{port.label}_PORT=") + value
        for name in (str(position), *names):
            yield 1, len(f"PAI_TASK_ROLE_{name}_HOST_LIST=") + role.instances * (_ADDRESS + 1 + _PORT)
        instances += role.instances * len(f"{role.controller_name or role.name}:{index},")
    yield 1, instances


def names_peers(text: str) -> bool:
    """Whether commands use variables about other tasks."""
    return bool(_PEER_VARIABLE.search(_OWN_VARIABLE.sub("", text)))
