"""What the screen shows: the jobs, the open job with its tasks, and the last lines of a task's log. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from ...app.jobs.listing import Line
    from ...app.usage.usage import Usage
    from ...monitor.poll import View
    from ..progress.job_progress import Progress


class Tail(Struct, frozen=True, kw_only=True):
    """Hold the last lines that a task printed; `path` is where, `reach` what of its peers is known of it."""

    job: str = ""
    task: str = ""
    stream: str = "stdout"
    path: str = ""
    lines: tuple[str, ...] = ()
    address: str = ""
    ports: tuple[tuple[str, str], ...] = ()


class World(Struct, frozen=True, kw_only=True):
    """Hold what was found last; `looked` is false before anything was. `problem`: why states may be old.

    `line` is that of the open job; `usages` are what its roles use, behind its name.
    """

    looked: bool = False
    jobs: tuple[Line, ...] = ()
    view: View | None = None
    line: Line | None = None
    usages: tuple[str, tuple[Usage, ...]] = ("", ())
    progress: Progress | None = None
    tail: Tail = field(default_factory=Tail)
    problem: str = ""


def with_line(jobs: tuple[Line, ...], line: Line) -> tuple[Line, ...]:
    """Return jobs with what is known now of one of them: the list has to say what the page of that job said."""
    return tuple(line if each.name == line.name else each for each in jobs)
