"""Resolution of a task and a port; without a name, the only one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Diagnostic, UsageError
from ..jobs.logs.selection import chosen, task_names
from ..where.web_pages import labels_in_job_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...monitor.poll import View
    from ...state.records import JobRole
    from ..where.task_places import TaskPlace
    from ..where.web_pages import WebPage


def one_task(view: View, word: str) -> tuple[JobRole, int]:
    """Return a task by its name; a role's name selects its only task, "" the job's only task.

    Raises NotFoundError for an unknown name, and UsageError if several tasks match.
    """
    roles = view.history.roles
    found = chosen(roles, (word,) if word else ())
    if len(found) == 1:
        return found[0]
    what = word or view.folder.name
    which = f"{word}-0 to {word}-{len(found) - 1}" if word else task_names(roles)
    raise _unclear(f"{what} has {len(found)} tasks: choose one of {which}")


def only_port(view: View, place: TaskPlace, pages: Sequence[WebPage]) -> str:
    """Return the label of the only port of a task that the job file declares. Raises UsageError if there are several.

    A page such as TensorBoard counts as a port with its title. Each task also has a port `ssh` and a port `http`.
    """
    labels = labels_in_job_file(view.folder, place.role)
    titles = [page.title.lower() for page in pages if page.title == "TensorBoard"]
    found = [*labels, *titles] or ["http"]
    if len(found) != 1:
        raise _unclear(f"{place.name} has several ports: choose one of {', '.join(found)}")
    return found[0]


def _unclear(message: str) -> UsageError:
    return UsageError(Diagnostic(code="E547", message=message))
