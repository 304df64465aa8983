"""The status of a job, and the codes of paislurm's own ends. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from paislurm.backends.slurm.job_states import REUSED, Phase, phase

from ..exit_codes.codes import NODE_LOST, NOT_BEGUN, NOT_STARTED
from ..view.reasons import Reason, said
from ..view.states import State, final_state, state_of

if TYPE_CHECKING:
    from paislurm.backends.base import Observation

    from ..state.history import History
    from ..state.journal_records import Ended
    from ..state.result import Result
    from ..view.waits import Wait

LOST_NODES = (NODE_LOST, NOT_BEGUN)
"""Codes for which the backend identifies the faulty node better than the script."""
NEEDS_BACKEND = (*LOST_NODES, NOT_STARTED)
"""Codes of results for which the backend identifies the faulty node, or reports that a node could not start the job."""
SCRIPT_ENDED = ("COMPLETED", "FAILED")
"""The states of Slurm for a script that ended by itself. The script's result says more."""
LOST_SECONDS = 600
"""Seconds after which a job that has not begun, and that the queue does not know, is lost.

Accounts may lack a job while slurmdbd is away, and for a while after that.
"""
RESULT_LAG = 10
"""Seconds until an ended job's result is visible: network file systems show new files late.

This also covers the reason of a drained node, which appears some milliseconds after the job's end. Observed on
22.05.
"""


class JobStatus(Struct, frozen=True, kw_only=True):
    """Hold a job's status, and why it has it. `ended` is true if nothing can change any more.

    `waits` explains why the backend does not start the job. `since` is when the journal recorded this reason, in
    seconds since 1970.
    """

    state: State
    code: int | None
    why: Reason
    ended: bool
    waits: tuple[Wait, ...] = ()
    since: int | None = None

    @classmethod
    def end(cls, code: int, why: Reason) -> JobStatus:
        """Return the status of a job that has ended with this exit code."""
        return cls(state=state_of(code), code=code, why=why, ended=True)

    @classmethod
    def so_far(cls, state: State, why: Reason) -> JobStatus:
        """Return the status of a job that has not ended."""
        return cls(state=state, code=None, why=why, ended=False)

    @classmethod
    def recorded(cls, end: Ended) -> JobStatus:
        """Return the status of a job whose end is in its journal."""
        return cls(state=final_state(end.state), code=end.exit_code, why=said(end.reason), ended=True)

    @property
    def reason(self) -> str:
        """The reason as a sentence."""
        return str(self.why)


NOT_JUDGED = JobStatus.so_far("UNKNOWN", said("it has not been polled"))
"""The status of a job of which only files were read."""


def tells_all(result: Result | None) -> bool:
    """Return whether a result is final: the outcome is decided, all tasks have ended, the backend adds nothing."""
    if result is None or result.outcome == "interrupted":
        return False
    return result.complete and result.exit_code not in NEEDS_BACKEND


def is_anothers(seen: Observation | None) -> bool:
    """Return whether another job has the number of a job; see `job_files.own`."""
    return seen is not None and seen.raw_state == REUSED


def has_just_ended(seen: Observation, known: History, now: int) -> bool:
    """Return whether more facts of an end may follow.

    That is so until RESULT_LAG seconds have passed since the reported end or since the journal recorded it, the
    earlier of both: clocks may differ. It is not so if the backend reports no time of the end.
    """
    last = known.observed
    waited = now - last.happened_at if last is not None and last.backend_state == seen.state else 0
    return waited < RESULT_LAG and now - (seen.ended or 0) < RESULT_LAG


def may_be_lost(seen: Observation) -> bool:
    """Return whether the controller does not know a job that waits according to the accounts.

    One that is killed loses jobs that it has reported to the accounts. Source: observed on 26.05.
    """
    return not seen.queued and phase(seen.state) is Phase.PENDING


def settled(seen: Observation | None, now: int) -> Observation | None:
    """Return the observation of a job; it is final if only the accounts show its end, for a long time.

    If a controller that is killed reports the end of a heterogeneous job again, the accounts never number its
    components. Source: observed on 26.05.
    """
    if seen is None or seen.ended is None or seen.queued or phase(seen.state) is not Phase.ENDED:
        return seen
    return replace(seen, final=True) if now - seen.ended >= LOST_SECONDS else seen
