"""The task and the port that are meant where the user names none: the only ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .web_pages import labels_in_job_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...monitor.poll import View
    from .task_places import TaskPlace
    from .web_pages import WebPage

SHOWN = 5


def only_task(view: View) -> str:
    """Return the name of the only task of a job; a usage error names the tasks where there are several."""
    names = [f"{role.name}-{index}" for role in view.history.roles for index in range(role.instances)]
    if len(names) != 1:
        more = ", ..." if len(names) > SHOWN else ""
        raise click.UsageError(f"which task? {view.folder.name} has {', '.join(names[:SHOWN])}{more}")
    return names[0]


def only_port(view: View, place: TaskPlace, pages: Sequence[WebPage]) -> str:
    """Return the label of the only port of a task that its job file asks for; a usage error names them if several.

    A page such as TensorBoard's counts as a port of its title. Each task also has a port `ssh` and a port `http`.
    """
    labels = labels_in_job_file(view.folder, place.role)
    titles = [page.title.lower() for page in pages if page.title == "TensorBoard"]
    found = [*labels, *titles] or ["http"]
    if len(found) != 1:
        raise click.UsageError(f"which port? {place.name} has {', '.join(found)}")
    return found[0]
