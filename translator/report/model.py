"""What a report says of a job. All times are seconds since 1970, None where something never came to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paislurm.backends.slurm.steps import StepUsage

    from ..exit_codes.table import ExitCode
    from ..monitor.failure import Failure
    from ..monitor.job_status import State
    from ..state.records import JobRole

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
