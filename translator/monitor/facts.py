"""What is known of a job, and the facts about its last attempt, from which `verdict` derives its status."""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from paislurm.backends.base import JobId, Observation
from paislurm.backends.hostlist import expand
from paislurm.backends.slurm.job_states import FORGOTTEN, REUSED, Phase, phase, slurms_word

from ..exit_codes.table import ExitTable
from ..folded_names import folded
from ..state.history import reasons_of
from .explained_waits import waits
from .job_status import NOT_JUDGED, RESULT_LAG, SCRIPT_ENDED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..state.history import History
    from ..state.job_folder import JobFolder
    from ..state.journal_records import Record
    from ..state.result import Result
    from ..state.task_reports import Report
    from ..view.task import TaskView
    from ..view.waits import Wait
    from .job_status import JobStatus
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
    be submitted, None if it may now. `has_place` tells whether its group's pace lets a job that waits here to the
    backend.
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
    has_place: bool = True

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

    @property
    def started_at(self) -> int | None:
        """When the last attempt started, None if it has not, the time is unknown, or the next one is due."""
        if self.history.ended is not None:
            return self.history.ended.started_at
        if self.history.retry is not None:
            return None
        return self.observation.started if self.observation else self.result.started_at if self.result else None

    @property
    def expected_start_at(self) -> int | None:
        """The expected start of a waiting job, None if it is unknown or has passed."""
        start = self.seen.expected_start
        return start if start is not None and start >= self.polled_at and self.job_status.state == "WAITING" else None

    @property
    def node_list(self) -> str:
        """The nodes of the last attempt in Slurm's notation, "" while it has none."""
        end = self.history.ended
        return (end.node_list if end else folded_nodes(self.seen.nodes)) or folded(t.node for t in self.tasks if t.node)

    @property
    def backend_state(self) -> str:
        """The backend's last known state, "" if it does not know the job."""
        last = self.history.ended or self.history.retry or self.history.observed
        return slurms_word(self.observation.raw_state if self.observation else last.backend_state if last else "")


def folded_nodes(nodes: str) -> str:
    """Fold a list of nodes: the components of a heterogeneous job give `n5,n6`.

    >>> folded_nodes("n5,n6"), folded_nodes("n[1-3,7]")
    ('n[5-6]', 'n[1-3,7]')
    """
    if "," in nodes:
        with suppress(ValueError):
            return folded(expand(nodes))
    return nodes
