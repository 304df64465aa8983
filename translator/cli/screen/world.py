"""The data of the screen: the jobs, the open job with its tasks, and the last lines of a task's log. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from ...app.jobs.progress import Progress
    from ...app.usage import Usage
    from ...app.views.line import JobLine
    from ...monitor.poll import View


class Tail(Struct, frozen=True, kw_only=True):
    """The last lines of a task's log."""

    job: str = ""
    task: str = ""
    stream: str = "stdout"
    lines: tuple[str, ...] = ()


class World(Struct, frozen=True, kw_only=True):
    """The result of the last poll; `polled` is false before the first. `problem`: why states may be old.

    `line` describes the open job; `usages` has the name of a job and the usage of its roles.
    """

    polled: bool = False
    jobs: tuple[JobLine, ...] = ()
    view: View | None = None
    line: JobLine | None = None
    usages: tuple[str, tuple[Usage, ...]] = ("", ())
    progress: Progress | None = None
    tail: Tail = field(default_factory=Tail)
    problem: str = ""


def with_line(jobs: tuple[JobLine, ...], line: JobLine) -> tuple[JobLine, ...]:
    """Return jobs with one line replaced, so that the list agrees with the page of that job."""
    return tuple(line if each.name == line.name else each for each in jobs)
