"""The addresses and ports of tasks, and the pages that they serve, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...app.where.task_places import task_places
from ...app.where.web_pages import FEW, page_line, web_pages
from ...plural import counted
from .console import print_result
from .tables import print_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...app.where.web_pages import WebPage
    from ...monitor.poll import View
    from ...monitor.task_status import TaskView


def ports_text(ports: Mapping[str, Iterable[int]]) -> str:
    """Return `http 5000 5001, ssh 5002`, `-` for none."""
    return ", ".join(" ".join((label, *map(str, numbers))) for label, numbers in ports.items()) or "-"


def pages_dicts(view: View) -> list[dict[str, str]]:
    """Return for `--json` the pages that running tasks serve."""
    if view.job_status.ended:
        return []
    return [page._asdict() for page in web_pages(view.folder, task_places(view).values())]


def print_places(view: View, tasks: Iterable[TaskView], *, every: bool = False) -> None:
    """Print the pages that running tasks serve, and the places of few of them, or of `every` one that began."""
    if view.job_status.ended and not every:
        return
    wanted = {(task.role, task.index) for task in tasks}
    found = [place for key, place in task_places(view).items() if key in wanted]
    _print_pages(web_pages(view.folder, found), every=every)
    running = [place for place in found if place.is_running]
    shown = found if every else running if len(running) <= FEW else []
    if shown:
        print_result("")
        rows = [(place.name, place.node or "-", place.address or "-", ports_text(place.ports)) for place in shown]
        print_table(("task", "node", "address", "ports"), rows)


def _print_pages(pages: Sequence[WebPage], *, every: bool) -> None:
    if pages:
        print_result("")
    for page in pages if every else pages[:FEW]:
        print_result(page_line(page))
    if len(pages) > FEW and not every:
        print_result(f"... and {counted(len(pages) - FEW, 'more page')}: --ports shows all")
