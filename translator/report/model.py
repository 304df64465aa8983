"""What a report says of a job. All times are seconds since 1970, None where something never came to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from paislurm.backends.slurm.steps import StepUsage

    from ..exit_codes.table import ExitCode
    from ..monitor.failure import Failure
    from ..monitor.job_status import State
    from ..state.records import JobRole
    from ..state.task_reports import Report, ScriptRun


Phase = Literal["waiting", "staging", "running", "stopping"]
"""What goes on in a part of a timeline, in the order in which charts name them."""
PHASES: tuple[Phase, ...] = get_args(Phase)


class Segment(Struct, frozen=True, kw_only=True):
    """Say what went on from one time to another."""

    phase: Phase
    begins: int
    ends: int


class TaskEntry(Struct, frozen=True, kw_only=True):
    """Say what became of a task in one attempt of its job; `task_attempts` counts its runs.

    `ports` are lists of ports, separated by commas, by their label.
    """

    role: str
    index: int
    state: State
    exit_status: int | None
    exit_code: int | None
    node: str
    address: str
    ports: tuple[tuple[str, str], ...]
    task_attempts: int
    started_at: int | None
    ended_at: int | None
    segments: tuple[Segment, ...] = ()

    @property
    def name(self) -> str:
        """The task's name, `worker-0`."""
        return f"{self.role}-{self.index}"


class AttemptEntry(Struct, frozen=True, kw_only=True):
    """Say how an attempt went. `retry_rule` is why there was another one, "" where there was none.

    `waited_for` are the backend's reasons for not starting it; `exit` is what its exit code means. `usages` are what
    the tasks of a role used, by its name, as Slurm's accounting has it.
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
    tasks: tuple[TaskEntry, ...]
    usages: Mapping[str, StepUsage] = field(default_factory=dict)


class Tail(Struct, frozen=True, kw_only=True):
    """Hold the last lines of a log of a task that failed; `whole` tells whether these are all."""

    attempt: int
    task: str
    stream: str
    text: str
    whole: bool


class SourceLine(Struct, frozen=True, kw_only=True):
    """Hold a line of a file and the lines of the other file that it belongs with; numbers count from 1."""

    number: int
    text: str
    links: tuple[int, ...] = ()
    rule: str = ""


class LinkedSource(Struct, frozen=True, kw_only=True):
    """Hold the job file and the head of the script, line by line; `note` says why links are missing, or is ""."""

    job: tuple[SourceLine, ...]
    script: tuple[SourceLine, ...]
    note: str = ""
    plan: str = ""


class RunFacts(Struct, frozen=True, kw_only=True):
    """Say what a journal tells of a job's place in a sweep: its parameters, its group, and what the group varies.

    `result` is the number that the job names as its result.
    """

    parameters: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    sweep: Mapping[str, str] = field(default_factory=dict)
    result: float | None = None


class JobReport(Struct, frozen=True, kw_only=True):
    """Say all that a report shows of a job, as it was known at `now`. `notes` are what could not be read, in words."""

    name: str
    job: str
    user: str
    backend: str
    folder: str
    state: State
    ended: bool
    exit_code: int | None
    exit: ExitCode | None
    reason: str
    now: int
    created_at: int | None
    ended_at: int | None
    retry_limit: int
    roles: tuple[JobRole, ...]
    attempts: tuple[AttemptEntry, ...]
    run: RunFacts = field(default_factory=RunFacts)
    failure: Failure | None = None
    tails: tuple[Tail, ...] = ()
    source: LinkedSource | None = None
    notes: tuple[str, ...] = ()


def segments(*boundaries: tuple[Phase, int | None], ends: int | None) -> tuple[Segment, ...]:
    """Return the phases that begin at these times, each up to the next one that began, the last up to `ends`.

    A phase that never began is left out, and so is one that would end before it begins: clocks of nodes differ. What
    ran for less than a second ran all the same.
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
) -> tuple[Segment, ...]:
    """Return when a task waited, was staged, ran and was stopped.

    `runs` are its task attempts, `scripts` what it ran of prerequisites and plugins. `began` is when the batch script
    did, `decided` when the outcome of the attempt was known, `ends` until when a task without an end lived.
    """
    return tuple(_task_segments(runs, scripts, began, decided, ends))


def _task_segments(
    runs: Sequence[Report], scripts: Sequence[ScriptRun], began: int | None, decided: int | None, ends: int | None
) -> Iterator[Segment]:
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


def running_counts(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return how many spans there are at a time, at each time at which that changes."""
    changes: dict[int, int] = {}
    for begins, ends in spans:
        changes[begins] = changes.get(begins, 0) + 1
        changes[ends] = changes.get(ends, 0) - 1
    count = 0
    found: list[tuple[int, int]] = []
    for at, change in sorted(changes.items()):
        count += change
        if change or not found:
            found.append((at, count))
    return found
