"""Build the report of a job from its evidence. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from paislurm.backends.slurm.job_states import slurms_word

from ..state.history import reasons_of
from ..state.journal_records import Ended, Observed, Retry, Submitted
from ..state.result import reported_behaviour
from ..state.task_reports import Peer, Report
from ..times import aware, seconds_since_1970
from ..view.states import state_of
from ..view.task import task_views, with_places
from .model import AttemptEntry, segments, task_segments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from paislurm.backends.slurm.steps import Allocated, StepUsage

    from ..monitor.facts import View
    from ..state.journal_records import JobRole, Record
    from ..state.kept_plan import KeptPlan
    from ..state.result import Result
    from ..state.task_reports import ScriptRun
    from ..view.task import TaskView
    from .model import Segment


DETAILED = 5
"""The number of attempts, the newest, whose tasks a report shows."""


class AttemptFiles(Struct, frozen=True, kw_only=True):
    """The files of an attempt: `runs` and `scripts` by role folder and index, `peers` by role position and index.

    `allocated` and `usages` are of Slurm's accounting: pairs of a component and its allocation; usages by role.
    """

    number: int
    result: Result | None = None
    runs: Mapping[str, Mapping[int, tuple[Report, ...]]] = field(default_factory=dict)
    scripts: Mapping[str, Mapping[int, tuple[ScriptRun, ...]]] = field(default_factory=dict)
    peers: Mapping[tuple[int, int], Peer] = field(default_factory=dict)
    allocated: Sequence[tuple[int, Allocated]] = ()
    usages: Mapping[str, StepUsage] = field(default_factory=dict)


class JobEvidence(Struct, frozen=True, kw_only=True):
    """The evidence of a job's attempts at `now`: its status, the records of its journal, the files of its attempts."""

    now: int
    view: View
    records: Sequence[Record]
    plan: KeptPlan
    attempts: Sequence[AttemptFiles]


def attempt_entries(evidence: JobEvidence) -> tuple[AttemptEntry, ...]:
    """Return the attempts of a job."""
    return tuple(_attempt(files, evidence) for files in evidence.attempts)


def _attempt(files: AttemptFiles, evidence: JobEvidence) -> AttemptEntry:
    """Return an attempt with its state: that of its retry, or the job's if it was not retried."""
    records = [record for record in evidence.records if getattr(record, "attempt", None) == files.number]
    submitted = next((record for record in records if isinstance(record, Submitted)), None)
    observed = [record for record in records if isinstance(record, Observed)]
    end = next((record for record in records if isinstance(record, (Retry, Ended))), None)
    result = files.result
    status, roles = evidence.view.job_status, evidence.view.history.roles
    state, code, reason = status.state, status.code, status.reason
    if isinstance(end, Retry):
        state, code, reason = state_of(end.exit_code), end.exit_code, end.reason
    ended = end is not None or status.ended
    outcomes = [outcome for outcome in (result, end) if outcome is not None]
    running = (record.happened_at for record in observed if record.backend_state == "RUNNING")
    began = _first(*(outcome.started_at for outcome in outcomes), *running)
    decided = _first(*(outcome.ended_at for outcome in outcomes))
    until = decided if ended else evidence.now
    tasks = _tasks(files, roles, ended=ended)
    folders = {role.name: role.folder for role in roles}
    starts = [int(task.started_at.timestamp()) for task in tasks if task.started_at is not None]
    ends = [int(task.ended_at.timestamp()) for task in tasks if task.ended_at is not None]
    ended_at = max(ends, default=decided) if decided is None else max([decided, *ends])
    submitted_at = submitted.happened_at if submitted else None
    return AttemptEntry(
        number=files.number,
        job_id=submitted.job_id if submitted else "",
        state=state,
        exit_code=code,
        exit=None if code is None else evidence.view.table.describe(code, reported_behaviour(result, code)),
        reason=reason,
        retry_rule=end.retry_rule if isinstance(end, Retry) else "",
        blamed_nodes=end.blamed_nodes if isinstance(end, Retry) else (),
        backend_state=slurms_word(end.backend_state) if end else evidence.view.backend_state,
        waited_for=tuple(dict.fromkeys(_reasons(observed))),
        submitted_at=submitted_at,
        started_at=began,
        ended_at=ended_at if ended else None,
        segments=segments(
            ("waiting", submitted_at),
            ("staging", began),
            ("running", min(starts, default=None)),
            ("stopping", decided),
            ends=ended_at if ended else evidence.now,
        ),
        tasks=tasks,
        timelines={
            task.name: _timeline(files, folders[task.role], task, began=began, decided=decided, until=until)
            for task in tasks
        },
        usages=files.usages,
    )


def _first(*times: int | None) -> int | None:
    return next((time for time in times if time is not None), None)


def _reasons(observed: Iterable[Observed]) -> Iterable[str]:
    """Yield the backend's reasons for not starting the attempt, including repeated ones."""
    for record in observed:
        if record.backend_state == "PENDING":
            yield from (reason for reason in reasons_of(record) if reason not in ("", "None"))


def _tasks(files: AttemptFiles, roles: tuple[JobRole, ...], *, ended: bool) -> tuple[TaskView, ...]:
    """Return the tasks of an attempt in the order of the job file, from the start of their first run."""
    first = {
        f"{role.name}-{index}": runs[0] for role in roles for index, runs in files.runs.get(role.folder, {}).items()
    }
    last = {folder: {index: runs[-1] for index, runs in of_role.items()} for folder, of_role in files.runs.items()}
    tasks = with_places(task_views(roles, files.result, last, ended=ended), roles, files.result, lambda: files.peers)
    return tuple(
        replace(task, started_at=aware(first[task.name].started)) if task.name in first else task for task in tasks
    )


def _timeline(
    files: AttemptFiles, folder: str, task: TaskView, *, began: int | None, decided: int | None, until: int | None
) -> tuple[Segment, ...]:
    """Return the phases of a task."""
    runs = files.runs.get(folder, {}).get(task.index, ())
    scripts = files.scripts.get(folder, {}).get(task.index, ())
    ends = seconds_since_1970(task.ended_at) or until
    return tuple(task_segments(runs or _only_run(task), scripts, began=began, decided=decided, ends=ends))


def _only_run(view: TaskView) -> tuple[Report, ...]:
    """Return the run of a task that only the result contains."""
    started = seconds_since_1970(view.started_at)
    if started is None:
        return ()
    ended = seconds_since_1970(view.ended_at)
    return (Report(index=view.index, attempt=0, node=view.node or "", started=started, ended=ended),)
