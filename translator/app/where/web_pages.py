"""The pages that tasks serve, as far as the job file tells: TensorBoard, Jupyter, and ports that it labels `http`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ...state.kept_plan import MAX_BYTES, KeptRole, kept_plan
from ...state.safe_read import parse_int, read_end
from ...terminal_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...state.job_folder import JobFolder
    from .task_places import TaskPlace

TITLES: Mapping[str, str] = {"tensorboard": "TensorBoard", "jupyter": "Jupyter", "notebook": "Jupyter"}
"""By what a label has in it."""
_MENTIONS_HTTP = re.compile(rb"[\"']?http[\"']?\s*[:,}\n]")


class WebPage(NamedTuple):
    """Name a page that a task serves, or is to."""

    title: str
    task: str
    url: str


def may_have_pages(folder: JobFolder) -> bool:
    """Tell whether the job file asks for anything that serves a page."""
    roles = kept_plan(folder.path).roles
    labels = {port.label.lower() for role in roles for port in role.ports}
    named = any(word in label for word in TITLES for label in labels)
    return named or any(_port_of_plugin(role) is not None for role in roles) or bool(_roles_with_http(folder))


def web_pages(folder: JobFolder, places: Iterable[TaskPlace]) -> list[WebPage]:
    """Return the pages of running tasks, each once; whether somebody answers there, nobody has asked."""
    running = [place for place in places if place.is_running and place.host]
    if not running:
        return []
    roles = kept_plan(folder.path).roles_by_name
    labelled = _roles_with_http(folder)
    found: dict[str, WebPage] = {}
    for place in running:
        for title, port in _ports(place, roles.get(place.role), has_http=place.role in labelled):
            host = f"[{place.host}]" if ":" in place.host else place.host
            url = f"http://{host}:{port}"
            found.setdefault(url, WebPage(title, place.name, url))
    return list(found.values())


def port_labels(folder: JobFolder, role: str, index: int) -> list[str]:
    """Return the labels by which a task's ports are asked for, as the plan has them; `tensorboard` for the plugin's."""
    planned = kept_plan(folder.path).roles_by_name.get(role)
    labels = [port.label for port in planned.ports] if planned else []
    has_plugin = index == 0 and _port_of_plugin(planned) is not None
    return list(dict.fromkeys([*labels, *(["tensorboard"] if has_plugin else [])]))


def labels_in_job_file(folder: JobFolder, role: str) -> list[str]:
    """Return the labels of the ports that the job file asks for; each task has `ssh` and `http` unasked."""
    planned = kept_plan(folder.path).roles_by_name.get(role)
    unasked = {"ssh"} if role in _roles_with_http(folder) else {"ssh", "http"}
    return [port.label for port in planned.ports if port.label not in unasked] if planned else []


def _ports(place: TaskPlace, role: KeptRole | None, *, has_http: bool) -> Iterator[tuple[str, int]]:
    if place.index == 0 and (port := _port_of_plugin(role)) is not None:
        yield "TensorBoard", port
    for label, ports in place.ports.items():
        title = next((TITLES[word] for word in TITLES if word in label.lower()), "")
        if ports and (title or (label == "http" and has_http)):
            yield title or "HTTP", ports[0]


def _port_of_plugin(role: KeptRole | None) -> int | None:
    """Return the port of the plugin tensorboard, which the first task of the first role runs."""
    for hook in role.before if role else ():
        if hook.script is not None and hook.script.program == "tensorboard":
            return parse_int(str(dict(hook.script.settings).get("PORT", "")))
    return None


def _roles_with_http(folder: JobFolder) -> set[str]:
    """Return the roles for which the job file itself asks for ports labelled `http`: every task has one unasked."""
    try:
        text = read_end(folder.path / "job.yaml", MAX_BYTES)[0]
    except OSError:
        return set()
    return _declaring(text) if _MENTIONS_HTTP.search(text) else set()


def _declaring(text: bytes) -> set[str]:
    from ...errors import PaislurmError
    from ...reading.read import read

    try:
        root = read(text, file="job.yaml").root
    except PaislurmError:
        return set()
    roles = root.get("taskRoles") if isinstance(root, Mapping) else None
    if isinstance(roles, Mapping):
        return {name for name, role in roles.items() if _asks_for_http(role)}
    return {str(role.get("name")) for role in _mappings(roles) if _lists_http(role.get("portList"))}


def _asks_for_http(role: object) -> bool:
    """Tell whether a role of protocol v2 asks for such ports."""
    resources = role.get("resourcePerInstance") if isinstance(role, Mapping) else None
    ports = resources.get("ports") if isinstance(resources, Mapping) else None
    return isinstance(ports, Mapping) and "http" in ports


def _lists_http(ports: object) -> bool:
    """Tell whether a list of ports of protocol v1 has such a label."""
    return any(port.get("label") == "http" for port in _mappings(ports))


FEW = 4
"""The addresses and ports of so many running tasks are shown unasked."""


def page_line(page: WebPage) -> str:
    """Return what a user is told of a page: `TensorBoard: http://10.0.0.1:5000 (worker-0)`."""
    return one_line(f"{page.title}: {page.url} ({page.task})")


def _mappings(value: object) -> list[Mapping[str, object]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, (list, tuple)) else []
