"""The state of the screen, and the effect of keys on it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ...app.jobs.live import Note, Stream, Tail
from .jobs_page import GROUP
from .tasks import find, grid, moved, next_failed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...app.jobs.reported import Progress
    from ...view.jobs import JobView
    from ...view.line import JobLine
    from ...view.task import TaskView, Usage


class World(Struct, frozen=True, kw_only=True):
    """The result of the last poll; `polled` is false before the first. `problem`: why states may be old.

    `notes` are by the name of a job: the stall of a running one, the last words of one that failed.
    `job` is the open job; `usages` has the name of a job and the usage of its roles.
    """

    polled: bool = False
    jobs: tuple[JobLine, ...] = ()
    notes: Mapping[str, Note] = field(default_factory=dict)
    job: JobView | None = None
    usages: tuple[str, tuple[Usage, ...]] = ("", ())
    progress: Progress | None = None
    tail: Tail = field(default_factory=Tail)
    problem: str = ""


def with_line(jobs: tuple[JobLine, ...], line: JobLine) -> tuple[JobLine, ...]:
    """Return jobs with one line replaced, so that the list agrees with the page of that job."""
    return tuple(line if each.name == line.name else each for each in jobs)


Page = Literal["jobs", "job"]
Kind = Literal["quit", "ended", "cancel", "shell", "stop", "redraw"]
EVENTS: dict[str, Kind] = {"ended": "ended", "stop": "stop", "redraw": "redraw"}
"""The requests of events that do not depend on the page."""
SHORT_KEYS = {"k": "up", "j": "down"}
ARROWS = ("up", "down", "left", "right")


class State(Struct, frozen=True, kw_only=True):
    """The visible page. `job` and `task` are names, "" for the first one.

    `job` can be the row of a group; `group` is the open group. `question` is the one that the next key answers.
    """

    page: Page = "jobs"
    job: str = ""
    group: str = ""
    task: str = ""
    stream: Stream = ""
    words: str = ""
    question: Literal["", "words", "cancel", "help"] = ""
    message: str = ""


class Sight(Struct, frozen=True, kw_only=True):
    """The visible objects: the names of jobs in order, the tasks of the open job, and the space for rows."""

    jobs: Sequence[str]
    tasks: Sequence[TaskView] = ()
    per_row: int = 50
    height: int = 20
    ended: frozenset[str] = frozenset()
    stream: str = "stdout"


class Request(NamedTuple):
    """A request to the program: to quit, to cancel a job, or to open a shell in a task."""

    kind: Kind
    job: str = ""
    task: str = ""


def press(state: State, key: str, sight: Sight) -> tuple[State, Request | None]:
    """Return the state after a key, and its request."""
    if key in EVENTS:
        return state, Request(EVENTS[key])
    state = replace(state, message="")
    if state.question:
        return _answer(state, key, sight)
    key = SHORT_KEYS.get(key, key)
    if key == "q":
        return state, Request("quit")
    if key == "?":
        return replace(state, question="help"), None
    state = replace(state, job=chosen_job(state, sight.jobs))
    if not state.job:
        return (replace(state, question="words") if key == "/" else _left(state) if key == "escape" else state), None
    if key == "c":
        ended = state.job in sight.ended
        return (replace(state, message="it has already ended") if ended else replace(state, question="cancel")), None
    if state.page == "jobs":
        return _press_jobs(state, key, sight), None
    return _press_tasks(state, key, sight)


def chosen_job(state: State, jobs: Sequence[str]) -> str:
    """Return the chosen job, or the first if it is gone; "" without jobs."""
    if state.job in jobs or state.page != "jobs":
        return state.job
    return jobs[0] if jobs else ""


def _answer(state: State, key: str, sight: Sight) -> tuple[State, Request | None]:
    if state.question == "help":
        return replace(state, question=""), None
    if state.question == "cancel":
        job = chosen_job(state, sight.jobs)
        request = Request("cancel", job) if key in ("y", "Y") and job else None
        return replace(state, question="", message="" if request else "not cancelled"), request
    if key == "enter":
        return replace(state, question=""), None
    if key == "escape":
        return replace(state, question="", words=""), None
    if key == "backspace":
        return replace(state, words=state.words[:-1]), None
    return replace(state, words=state.words + key if len(key) == 1 else state.words), None


def _press_jobs(state: State, key: str, sight: Sight) -> State:
    place = sight.jobs.index(state.job)
    steps = {
        "up": -1, "down": 1, "pageup": -sight.height, "pagedown": sight.height,
        "home": -len(sight.jobs), "end": len(sight.jobs),
    }  # fmt: skip
    if key in steps:
        return replace(state, job=sight.jobs[max(0, min(place + steps[key], len(sight.jobs) - 1))], task="")
    if key in ("enter", "right") and state.job.startswith(GROUP):
        return replace(state, group=state.job.removeprefix(GROUP), job="")
    if key in ("enter", "right"):
        return replace(state, page="job", task="")
    if key == "/":
        return replace(state, question="words")
    return _left(state) if key == "escape" else state


def _left(state: State) -> State:
    """Leave the filter, else the open group."""
    if state.words or not state.group:
        return replace(state, words="")
    return replace(state, group="", job=GROUP + state.group)


def _press_tasks(state: State, key: str, sight: Sight) -> tuple[State, Request | None]:
    if key in ("escape", "backspace"):
        return (replace(state, page="jobs") if len(sight.jobs) > 1 or state.group else state), None
    if key == "e":
        return replace(state, stream="stdout" if sight.stream == "stderr" else "stderr"), None
    task = find(sight.tasks, state.task)
    if task is None:
        return state, None
    if key in ARROWS:
        return replace(state, task=moved(grid(sight.tasks, sight.per_row), task, key).name), None
    if key == "n":
        return replace(state, task=next_failed(sight.tasks, task).name), None
    if key != "s":
        return state, None
    state = replace(state, task=task.name)
    if task.state in ("RUNNING", "STOPPING"):
        return state, Request("shell", state.job, task.name)
    return replace(state, message=f"no shell: {task.name} is {task.state}"), None
