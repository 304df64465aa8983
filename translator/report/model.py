"""Data of a job report. Times are seconds since 1970; None for an event that has not occurred."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from paislurm.backends.slurm.steps import StepUsage

    from ..exit_codes.table import ExitCode
    from ..state.task_reports import Report, ScriptRun
    from ..view.jobs import JobView
    from ..view.states import State
    from ..view.task import TaskView


Phase = Literal["waiting", "staging", "running", "stopping"]
"""A part of a timeline, in the order of the charts' legends."""
PHASES: tuple[Phase, ...] = get_args(Phase)


class Segment(Struct, frozen=True, kw_only=True):
    """A phase with its start and end."""

    phase: Phase
    begins: int
    ends: int


class AttemptEntry(Struct, frozen=True, kw_only=True):
    """An attempt of a job. `retry_rule` is the reason for the next attempt, "" without one.

    `waited_for` are the backend's reasons for not starting it; `exit` explains its exit code. `tasks` begin with their
    first run; `timelines` are their phases by name. `usages` are the average resources that the tasks of each role
    used, from Slurm's accounting.
    """

    number: int
    job_id: str
    state: State
    exit_code: int | None
    exit: ExitCode | None
    reason: str
    retry_rule: str
    blamed_nodes: tuple[str, ...]
    backend_state: str
    waited_for: tuple[str, ...]
    submitted_at: int | None
    started_at: int | None
    ended_at: int | None
    segments: tuple[Segment, ...]
    tasks: tuple[TaskView, ...]
    timelines: Mapping[str, tuple[Segment, ...]]
    usages: Mapping[str, StepUsage] = field(default_factory=dict)


class Tail(Struct, frozen=True, kw_only=True):
    """The last lines of a log of a failed task; `whole` if they are the whole log."""

    attempt: int
    task: str
    stream: str
    text: str
    whole: bool


class JobReport(Struct, frozen=True, kw_only=True):
    """How a job stands at `now`, and its attempts; `notes` are messages about data that could not be read.

    `script` is the head of the last attempt's script.
    """

    job: JobView
    now: int
    attempts: tuple[AttemptEntry, ...]
    tails: tuple[Tail, ...] = ()
    job_file: str = ""
    script: str = ""
    notes: tuple[str, ...] = ()


def segments(*boundaries: tuple[Phase, int | None], ends: int | None) -> tuple[Segment, ...]:
    """Return the phases that start at these times; each ends when the next one starts, the last at `ends`.

    Omit phases that never started, and phases that would end before they start, because the clocks of nodes differ.
    Keep a running phase of less than a second.
    """
    begun = [(phase, at) for phase, at in boundaries if at is not None]
    found: list[Segment] = []
    for number, (phase, at) in enumerate(begun):
        end = begun[number + 1][1] if number + 1 < len(begun) else ends
        if end is not None and (end > at or (end == at and phase == "running")):
            found.append(Segment(phase=phase, begins=at, ends=end))
    return tuple(found)


def task_segments(
    runs: Sequence[Report], scripts: Sequence[ScriptRun], *, began: int | None, decided: int | None, ends: int | None
) -> Iterator[Segment]:
    """Yield when a task waited, was staged, ran and was stopped.

    `runs` are its task attempts, `scripts` its hooks. `began` is the start of the batch script, `decided` the time at
    which the outcome of the attempt was known. `ends` replaces the end of a task that did not report one.
    """
    free = began
    for run in runs:
        end = run.ended if run.ended is not None else ends
        before = (each for each in scripts if each.task_attempt == run.attempt and each.phase == "start")
        staged = max((each.ended_at for each in before), default=None)
        stopped = decided if decided is not None and run.started <= decided and run is runs[-1] else None
        yield from segments(
            ("waiting", free),
            ("staging" if staged is not None else "running", run.started),
            ("running", None if staged is None else max(staged, run.started)),
            ("stopping", stopped if end is not None and stopped is not None and stopped < end else None),
            ends=end,
        )
        free = end
