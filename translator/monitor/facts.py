"""What is known of a job, and the facts about its last attempt, from which `verdict` derives its status.

`gather` is the only look at the job's files and at its nodes, once for each verdict.
"""

from __future__ import annotations

import pwd
from contextlib import suppress
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from paislurm.backends.base import JobId, Observation
from paislurm.backends.registry import is_remote
from paislurm.backends.slurm.job_states import FORGOTTEN, REUSED, Phase, phase

from ..errors import BackendError
from ..exit_codes.table import ExitTable
from ..state.history import reasons_of
from ..state.parsed import parse_int
from .claim import NO_CLAIM, begun, claim_of, is_claimable, other_runner, own
from .explained_waits import waits
from .job_files import reports_of, result_of
from .job_status import NOT_JUDGED, RESULT_LAG, SCRIPT_ENDED, is_anothers, may_be_lost, settled, tells_all
from .unbegun import investigated, lost_nodes, may_be_slurms_own

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from paislurm.backends.base import Backend

    from ..state.history import History
    from ..state.job_folder import JobFolder
    from ..state.journal_records import Record
    from ..state.result import Result
    from ..state.task_reports import Report
    from ..view.task import TaskView
    from ..view.waits import Wait
    from .job_status import JobStatus
    from .polling.shared_results import PollResult
    from .unbegun import NodeFailure

_SHIPPED = ExitTable()


class Slurm(Enum):
    """Slurm's answer about a job.

    SILENT: none. ABSENT: neither the queue nor the accounts know the job. FORGOTTEN: the queue does not know it, and
    there are no accounts. REUSED: another job has its number. ALIVE: a state that is not final. SCRIPT_ENDED: its
    script ended by itself, according to the final state. OUTSIDE: the final state is an end from outside.
    """

    SILENT = "no answer"
    ABSENT = "does not know it"
    FORGOTTEN = "does not know it, and keeps no accounts"
    REUSED = "has given its number to another job"
    ALIVE = "it has not ended"
    SCRIPT_ENDED = "its script ended"
    OUTSIDE = "it was ended from outside"


DOES_NOT_KNOW = (Slurm.ABSENT, Slurm.FORGOTTEN, Slurm.REUSED)
_UNSEEN = Observation(job_id=JobId(""), state="", raw_state="", final=False)


class View(Struct, frozen=True, kw_only=True, dict=True):
    """Hold what is known of a job: its journal, then the files of its last attempt, the backend's answer, its status.

    `news` are records that the journal lacks; `history` includes them. `read_errors` describe unreadable files,
    `backend_error` why the backend did not answer. `backend_reachable` tells whether it answered; if it did and
    `observation` is None, it does not know the job. `polled_at` is the time of that poll, 0 if there was none. `now`
    and `polled_at` are seconds since 1970. `started` tells whether any task ever ran, `claimed` whether the script of
    this Slurm job has begun, `claimable` whether none has, and the monitor may claim the attempt for no job. `runner`
    is the other job that runs the attempt, or "". `canceller` is the user who cancelled the job, according to the
    backend. `unbegun` explains a cancellation by Slurm itself. `lost` are the nodes whose failure ended the job.
    `reports` are those of tasks, by role folder and task index.

    `job_status` and `tasks` follow from these. `never_began` tells whether Slurm has lost the job before its script
    began, `is_gone` whether the job was removed while it was read. `room_at` is the time from which the due attempt may
    be submitted, None if it may now.
    """

    folder: JobFolder
    history: History
    result: Result | None = None
    news: tuple[Record, ...] = ()
    read_errors: tuple[str, ...] = ()
    observation: Observation | None = None
    backend_reachable: bool = False
    backend_error: str = ""
    polled_at: int = 0
    now: int = 0
    started: bool = False
    claimed: bool = True
    claimable: bool = False
    runner: JobId = JobId("")
    canceller: str = ""
    unbegun: NodeFailure | None = None
    lost: tuple[str, ...] = ()
    reports: Mapping[str, Mapping[int, Report]] = field(default_factory=dict)
    job_status: JobStatus = NOT_JUDGED
    tasks: tuple[TaskView, ...] = ()
    never_began: bool = False
    is_gone: bool = False
    room_at: int | None = None

    @cached_property
    def table(self) -> ExitTable:
        """The meaning of exit codes and of Slurm's states on the job's site."""
        return ExitTable(self.history.exit_rows) if self.history.exit_rows else _SHIPPED

    @cached_property
    def slurm(self) -> Slurm:
        """What Slurm answers."""
        seen = self.observation
        if seen is None:
            return Slurm.ABSENT if self.backend_reachable else Slurm.SILENT
        if seen.state == FORGOTTEN:
            return Slurm.REUSED if seen.raw_state == REUSED else Slurm.FORGOTTEN
        if not seen.final:
            return Slurm.ALIVE
        outside = seen.state in self.table.states and seen.state not in SCRIPT_ENDED
        return Slurm.OUTSIDE if outside else Slurm.SCRIPT_ENDED

    @property
    def seen(self) -> Observation:
        """The observation, an empty one if there is none."""
        return self.observation or _UNSEEN

    @property
    def is_cut(self) -> bool:
        """Whether the script was told to end before it decided."""
        return self.result is not None and self.result.outcome == "interrupted"

    @cached_property
    def is_unknown(self) -> bool:
        """Whether Slurm does not know a job that left no result, or one that was told to end for another job.

        A node that cannot start another job with the number of one that Slurm has lost, because this one still runs
        there, ends both. No user cancels a job that Slurm does not know. Source: observed on 26.05.
        """
        if self.slurm not in DOES_NOT_KNOW or not self.history.job_id:
            return False
        if self.result is None or self.slurm is not Slurm.REUSED or not self.is_cut or self.history.cancelled:
            return self.result is None
        return self.seen.submitted is not None and self.seen.submitted <= (self.result.ended_at or 0)

    @property
    def last_state(self) -> str:
        """The state by the answer, or else by the last one, "" without any."""
        return self.seen.state or (self.history.observed.backend_state if self.history.observed else "")

    @property
    def unknown_seconds(self) -> int:
        """For how long the answers have not shown the job, or have called it ended, by the journal."""
        last = self.history.observed
        return self.polled_at - last.happened_at if last and phase(last.backend_state) is Phase.ENDED else 0

    @property
    def seen_end(self) -> str:
        """The end that an earlier answer reported, FORGOTTEN if it did not know the job; "" without such an answer.

        A controller that has lost its jobs reports them to the accounts as cancelled. Source: observed on 22.05.
        """
        last = self.history.observed
        if last is None or self.unknown_seconds < RESULT_LAG:
            return ""
        is_lost = self.slurm is Slurm.REUSED and last.backend_state == "CANCELLED"
        return FORGOTTEN if is_lost else last.backend_state

    @property
    def cancelled_by(self) -> str:
        """The user who cancelled the current Slurm job, which explains its interruption; "" if none did."""
        cancel = self.history.cancelled
        return cancel.user if cancel is not None and cancel.job_id == self.history.job_id != "" else ""

    @cached_property
    def waits(self) -> tuple[Wait, ...]:
        """Why the job waits, by the answer, or else by the last one."""
        latest = self.observation or self.history.observed
        return waits(reasons_of(latest), self.history) if latest else ()


def gather(files: View, answer: PollResult, now: int, backend: Callable[[str], Backend], *, tasks: bool) -> View:
    """Add the facts about an attempt in Slurm, once. `tasks` as in `poll_jobs`."""
    folder, known, result, read_errors = files.folder, files.history, files.result, files.read_errors
    claim = claim_of(folder, known.attempt) if known.job_id else NO_CLAIM
    is_claimed = bool(known.job_id) and claim.owner == known.job_id
    is_asked = bool(known.job_id) and not tells_all(result)
    polled_at, silence = _polled_at(files, answer, now), answer.error if is_asked else ""
    seen = own(folder, claim, known, answer.observations.get(JobId(known.job_id))) if is_asked else None
    age = int(answer.time) - (known.submitted or 0)
    if age < 0 or (age == 0 and (seen is None or seen.state == FORGOTTEN)):
        # The answer was about another job with this number.
        polled_at, seen = 0, None
    seen = settled(begun(claim, known, seen, polled_at), polled_at) if is_asked else None
    is_forgotten = seen is not None and seen.state == FORGOTTEN
    may_be_claimed = seen is None or may_be_lost(seen) or (is_forgotten and not is_anothers(seen))
    claimable = may_be_claimed and is_claimable(claim, known)
    seen = seen if is_forgotten or not claimable else None
    is_lost = is_forgotten or (seen is None and result is None and bool(polled_at))
    if result is None and seen is not None and seen.final:
        result, read_errors = result_of(folder, known.attempt, late=True)
        read_errors += files.read_errors
    reports = reports_of(folder, known) if tasks else {}
    unbegun: NodeFailure | None = None
    lost: tuple[str, ...] = ()
    try:
        if seen is not None and may_be_slurms_own(known, seen, result):
            seen, unbegun = investigated(files, seen, result, backend, now, claimed=is_claimed)
    except BackendError as error:
        seen, silence = None, error.words
    with suppress(BackendError):
        lost = lost_nodes(known, seen, result, files.table, backend, claimed=is_claimed)
    return replace(
        files,
        observation=seen,
        backend_reachable=bool(polled_at) and not silence,
        result=result,
        started=any(reports.values())
        or (result is not None and any(task.started_at for task in result.tasks))
        or (not tasks and _has_run(known, seen, claimed=is_claimed)),
        now=now,
        polled_at=polled_at,
        claimed=is_claimed,
        claimable=claimable,
        runner=other_runner(claim, known, seen, is_lost=is_lost),
        canceller=_canceller(seen, known),
        unbegun=unbegun,
        lost=lost,
        reports=reports,
        backend_error=silence,
        read_errors=read_errors,
    )


def _polled_at(files: View, answer: PollResult, now: int) -> int:
    """Return the time of the poll for a job, 0 if there was none or the result is newer than the answer."""
    known, result = files.history, files.result
    polled_at = min(now, int(answer.time)) if known.tag in answer.found or known.job_id in answer.asked else 0
    overtaken = result is not None and known.job_id not in answer.observations and polled_at < (result.ended_at or 0)
    return 0 if overtaken else polled_at


def _has_run(known: History, seen: Observation | None, *, claimed: bool) -> bool:
    """Return whether the backend has reported that a job runs, or that a job ended whose script had begun.

    Used if task reports are not read.
    """
    state = seen.state if seen else known.observed.backend_state if known.observed else None
    return state is not None and (phase(state) is Phase.RUNNING or (claimed and phase(state) is Phase.ENDED))


def _canceller(seen: Observation | None, known: History) -> str:
    """Return the user who cancelled a job: sacct prints `CANCELLED by 1000`, and a login node's uids may differ."""
    word = seen.raw_state.rpartition(" by ")[2] if seen else ""
    uid = parse_int(word)
    if uid is None or uid < 0:
        return ""
    if uid and is_remote(known.backend):
        return f"user {word}"
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return f"user {word}"
