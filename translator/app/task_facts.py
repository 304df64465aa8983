"""Running tasks: their places and web pages, from the files of an attempt, and their usage, from sstat."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.base import LOCAL, JobId
from paislurm.backends.slurm import commands

from ..errors import BackendError
from ..files.names import JOB_FILE
from ..files.reading import read_end
from ..state.kept_plan import MAX_BYTES, KeptRole, kept_plan
from ..state.parsed import parse_int
from ..state.task_reports import read_peers, read_reports
from ..times import seconds_since_1970
from ..view import task as task_view
from ..view.task import Usage, WebPage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from paislurm.backends.runner import CommandRunner
    from paislurm.backends.slurm.steps import StepUsage

    from ..monitor.facts import View
    from ..state.job_folder import JobFolder
    from ..state.kept_plan import KeptResources
    from ..view.task import TaskView
    from .session import Session


def with_places(view: View) -> tuple[TaskView, ...]:
    """Return the tasks of the last attempt, the started ones with their addresses and ports."""
    known = view.history
    peers = partial(read_peers, view.folder.reports(known.attempt))
    return task_view.with_places(view.tasks, known.roles, view.result, peers)


TITLES: Mapping[str, str] = {"tensorboard": "TensorBoard", "jupyter": "Jupyter", "notebook": "Jupyter"}
"""Titles of pages by a part of the port's label."""
_MENTIONS_HTTP = re.compile(rb"[\"']?http[\"']?\s*[:,}\n]")


def may_have_pages(folder: JobFolder) -> bool:
    """Return whether the job file declares a web page."""
    roles = kept_plan(folder.path).roles
    labels = {port.label.lower() for role in roles for port in role.ports}
    named = any(word in label for word in TITLES for label in labels)
    return named or any(_port_of_plugin(role) is not None for role in roles) or bool(_roles_with_http(folder))


def web_pages(folder: JobFolder, tasks: Iterable[TaskView]) -> list[WebPage]:
    """Return the pages of running tasks, each once, without connecting to them."""
    running = [task for task in tasks if task.is_running and task.host]
    if not running:
        return []
    roles = kept_plan(folder.path).roles_by_name
    labelled = _roles_with_http(folder)
    found: dict[str, WebPage] = {}
    for task in running:
        for title, port in _ports(task, roles.get(task.role), has_http=task.role in labelled):
            host = f"[{task.host}]" if ":" in task.host else task.host
            url = f"http://{host}:{port}"
            found.setdefault(url, WebPage(title=title, task=task.name, port=port, url=url))
    return list(found.values())


def port_labels(folder: JobFolder, role: str, index: int) -> list[str]:
    """Return the labels of a task's ports in the plan, and `tensorboard` for the plugin's."""
    planned = kept_plan(folder.path).roles_by_name.get(role)
    labels = [port.label for port in planned.ports] if planned else []
    has_plugin = index == 0 and _port_of_plugin(planned) is not None
    return list(dict.fromkeys([*labels, *(["tensorboard"] if has_plugin else [])]))


def labels_in_job_file(folder: JobFolder, role: str) -> list[str]:
    """Return the labels of ports in the job file; each task also has `ssh` and `http`."""
    planned = kept_plan(folder.path).roles_by_name.get(role)
    unasked = {"ssh"} if role in _roles_with_http(folder) else {"ssh", "http"}
    return [port.label for port in planned.ports if port.label not in unasked] if planned else []


def _ports(task: TaskView, role: KeptRole | None, *, has_http: bool) -> Iterator[tuple[str, int]]:
    if task.index == 0 and (port := _port_of_plugin(role)) is not None:
        yield "TensorBoard", port
    for label, ports in task.ports_by_label.items():
        title = next((TITLES[word] for word in TITLES if word in label.lower()), "")
        if ports and (title or (label == "http" and has_http)):
            yield title or "HTTP", ports[0]


def _port_of_plugin(role: KeptRole | None) -> int | None:
    """Return the port of the plugin tensorboard, which runs in the first task of the first role."""
    for hook in role.before if role else ():
        if hook.script is not None and hook.script.program == "tensorboard":
            return parse_int(str(dict(hook.script.settings).get("PORT", "")))
    return None


def _roles_with_http(folder: JobFolder) -> set[str]:
    """Return the roles with ports labelled `http` in the job file; every task has a default one, too."""
    try:
        text = read_end(folder.path / JOB_FILE, MAX_BYTES)[0]
    except OSError:
        return set()
    return _declaring(text) if _MENTIONS_HTTP.search(text) else set()


def _declaring(text: bytes) -> set[str]:
    from ..errors import PaislurmError
    from ..reading.read import read

    try:
        document = read(text, file=JOB_FILE)
    except PaislurmError:
        return set()
    roles = ("taskRoles",)
    v2 = {
        name
        for name in document.mapping(roles)
        if "http" in document.mapping((*roles, name, "resourcePerInstance", "ports"))
    }
    # In protocol v1, roles and ports are lists.
    v1 = {
        str(role.get("name"))
        for path, role in document.mappings(roles)
        if any(port.get("label") == "http" for _, port in document.mappings((*path, "portList")))
    }
    return v1 | v2


FEW_PAGES = 4
"""Most running tasks whose addresses and ports are shown by default."""


SECONDS = 60.0


class RunningRole(Struct, frozen=True, kw_only=True):
    """The running tasks of a role, and their Slurm step; `component` is None unless the job is heterogeneous."""

    name: str
    component: int | None
    step: int
    tasks: Sequence[TaskView]
    requested: KeptResources


def running_roles(view: View) -> list[RunningRole]:
    """Return the roles with running tasks, in the order of the job file."""
    known, plan = view.history, kept_plan(view.folder.path)
    kept, reports = plan.roles_by_name, read_reports(view.folder.reports(known.attempt))
    found = []
    for position, role in enumerate(known.roles):
        tasks = [task for task in view.tasks if task.role == role.name and task.state in ("RUNNING", "STOPPING")]
        if tasks and not view.job_status.ended:
            own, planned = reports.get(position, {}), kept.get(role.name, KeptRole(name=role.name))
            found.append(
                RunningRole(
                    name=role.name,
                    component=planned.component if plan.layout.kind == "het" else None,
                    step=max((own[task.index].step for task in tasks if task.index in own), default=-1),
                    tasks=tasks,
                    requested=planned.resources,
                )
            )
    return found


def usages_of(session: Session, view: View) -> tuple[Usage, ...]:
    """Return the use of each role; none if Slurm does not report it. Raises BackendError if Slurm does not answer."""
    from paislurm.backends.slurm.backend import check_cluster

    known, roles = view.history, running_roles(view)
    if known.backend == LOCAL or not roles:
        return ()
    check_cluster(JobId(known.job_id))
    number = int(commands.number_of(JobId(known.job_id)))
    return usages_of_steps(session.slurm_runner(known.backend), number, roles, session.now())


def usages_of_jobs(session: Session, views: Sequence[View]) -> list[tuple[Usage, ...]]:
    """Return the use of each job's roles, with an event if Slurm does not report that of a running job."""
    found: list[tuple[Usage, ...]] = []
    for view in views:
        usages: tuple[Usage, ...] = ()
        why = "Slurm gathers none (JobAcctGatherType), or cannot separate the roles"
        try:
            usages = usages_of(session, view)
        except BackendError as error:
            why = error.diagnostics[0].message
        if not usages and running_roles(view):
            session.say(f"the usage of {view.folder.name} is unknown: {why}")
        found.append(usages)
    return found


def usages_of_steps(runner: CommandRunner, number: int, roles: Sequence[RunningRole], now: int) -> tuple[Usage, ...]:
    """Return the use of each role; none if sstat does not know all of them, or cannot separate them.

    For sstat, a component of a heterogeneous job is a job with the next number. Source: Slurm, heterogeneous
    jobs; observed on 22.05, 24.11 and 26.05.
    """
    from paislurm.backends.slurm.steps import sstat, step_usages

    steps = [(number + (role.component or 0), role.step) for role in roles]
    if len(set(steps)) < len(steps):
        return ()
    # sstat reports unknown jobs and continues.
    done = runner.run(sstat(map(str, sorted({each for each, _ in steps}))), timeout=SECONDS)
    found = [_usage(role, step_usages(done.stdout), step, now) for role, step in zip(roles, steps, strict=True)]
    return () if None in found else tuple(usage for usage in found if usage is not None)


def _usage(
    role: RunningRole, known: Mapping[tuple[int, int], StepUsage], key: tuple[int, int], now: int
) -> Usage | None:
    step = known.get(key)
    if step is None:
        return None
    # For Slurm, a task of several ranks is several tasks.
    each = step.tasks / len(role.tasks)
    lasted = now - min(seconds_since_1970(task.started_at) or now for task in role.tasks)
    return Usage(
        role=role.name,
        running_tasks=len(role.tasks),
        requested_cpus=role.requested.cpus,
        requested_memory_mib=role.requested.memory_mib,
        cpus_busy=round(step.cpu_seconds * each / lasted, 2) if lasted > 0 else None,
        used_memory_mib=round(step.memory_mib * each),
        max_memory_mib=step.max_memory_mib,
        gpu_percent=step.gpu_percent,
        gpu_memory_mib=step.gpu_memory_mib,
    )
