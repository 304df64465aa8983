"""The addresses, ports and web pages of the tasks of a job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from ..files.names import JOB_FILE
from ..files.reading import read_end
from ..state.kept_plan import MAX_BYTES, KeptRole, kept_plan
from ..state.parsed import parse_int
from ..state.task_reports import read_peers
from ..view import task as task_view
from ..view.task import WebPage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..monitor.poll import View
    from ..state.job_folder import JobFolder
    from ..view.task import TaskView


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
            found.setdefault(url, WebPage(title=title, task=task.name, url=url))
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
