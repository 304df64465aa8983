"""The addresses and ports of tasks, and the pages that they serve, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...app.where.task_places import task_places
from ...plural import counted
from .console import one_line, print_result
from .tables import print_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...app.where.web_pages import WebPage
    from ...monitor.poll import View
    from ...monitor.task_status import TaskView

FEW = 4
"""The addresses and ports of so many running tasks are shown unasked."""


def ports_text(ports: Mapping[str, Iterable[int]]) -> str:
    """Return `http 5000 5001, ssh 5002`, `-` for none."""
    return ", ".join(" ".join((label, *map(str, numbers))) for label, numbers in ports.items()) or "-"


def pages_dicts(view: View) -> list[dict[str, str]]:
    """Return for `--json` the pages that running tasks serve."""
    if view.job_status.ended:
        return []
    from ...app.where.web_pages import web_pages

    return [page._asdict() for page in web_pages(view.folder, task_places(view).values())]


def print_places(view: View, tasks: Iterable[TaskView], *, every: bool = False) -> None:
    """Print the pages that running tasks serve, and the places of few of them, or of `every` one that began."""
    if view.job_status.ended and not every:
        return
    from ...app.where.web_pages import web_pages

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


def page_line(page: WebPage) -> str:
    """Return what a user is told of a page: `TensorBoard: http://10.0.0.1:5000 (worker-0)`."""
    return one_line(f"{page.title}: {page.url} ({page.task})")
