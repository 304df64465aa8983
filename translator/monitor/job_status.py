"""Observations -> how a job stands: what to believe when backend, result and reports disagree. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from paislurm.backends.slurm.states import FORGOTTEN, Phase, phase

from ..exit_codes.table import ExitTable
from ..folded_names import folded
from ..state.history import reasons_of
from .waits import is_news, sentence, waits

if TYPE_CHECKING:
    from paislurm.backends.base import Observation

    from ..exit_codes.table import ExitCode
    from ..state.history import History
    from ..state.result import Result
    from .unbegun import NodeFailure
    from .waits import Wait

State = Literal["WAITING", "RUNNING", "STOPPING", "SUCCEEDED", "FAILED", "STOPPED", "UNKNOWN"]
"""Source: OpenPAI job states."""

FINAL: tuple[State, ...] = ("SUCCEEDED", "FAILED", "STOPPED")
OF_JOB_END = -220
"""The code of a task that the end of its job stopped. Source: OpenPAI exit specification."""
STOP_CODES = (-210, OF_JOB_END)
"""The codes that leave a job STOPPED: its user's word, and that of the end of a job. Source: OpenPAI job states."""
LOST_NODES = (-1001, -1006)
"""Codes for which the backend knows better than the script which node is to blame."""
SLURM_KNOWS_MORE = (*LOST_NODES, -1402)
"""Codes of results of which the backend knows which node is to blame, or that a node did not begin the job."""
OF_THE_SCRIPT = ("COMPLETED", "FAILED")
"""Slurm's words for a script that ended by itself: then its result tells more."""
UNEXPLAINED = -101
"""The code of an end from outside of which nobody says why. Source: OpenPAI exit specification, PodExternalDeleted."""
JOB_FORGOTTEN, FOLDER_NOT_SHARED, FOLDER_FULL = -1404, -1405, -1406
"""This program's own codes; see exit_codes/table.yaml."""
NOT_SHARED = 6
"""What a batch script exits with that does not see the job's folder. Source: this project's docs, run folder."""
NO_ROOM = 7
"""What a batch script exits with that could not write because of a full file system. Source: as above."""
NO_LOG = 53
"""What Slurm gives as the signal of a job of which a node could not open the log. Source: observed on 22.05."""
RESULT_LAG = 10
"""Seconds for which an ended job's result may be on its way: network file systems show new files late.

So may the reason for which a node is drained: it comes some milliseconds after the end of the job. Observed on 22.05.
"""
QUEUE_LAG = 60
"""Seconds for which a job may be new to the backend."""


class Evidence(Struct, frozen=True, kw_only=True):
    """Gather all that is known of a job's last attempt.

    `backend_reachable` tells "the backend does not know the job", as it said at `heard`, from "it did not answer";
    `folder` is the job's, `started` whether any task ever ran; `canceller` is who cancelled the job, as far as the
    backend says, and `unbegun` why it was Slurm itself; `lost` are the nodes whose failure ended it; `table` says what
    codes and states mean on this site.
    """

    history: History
    observation: Observation | None
    backend_reachable: bool
    result: Result | None
    started: bool
    now: int
    heard: int
    folder: str = ""
    canceller: str = ""
    unbegun: NodeFailure | None = None
    lost: tuple[str, ...] = ()
    table: ExitTable = field(default_factory=ExitTable)


class DueAttempt(Struct, frozen=True, kw_only=True):
    """Say when the next attempt is submitted: in `seconds`, or if it is `held_back` for that reason, not before.

    `before` is how the last one ended, and what else is to be said.
    """

    number: int
    seconds: int
    held_back: str = ""
    before: str = ""

    @property
    def text(self) -> str:
        """The reason for which the job waits."""
        return self._text(f"{self.seconds} s")

    @property
    def lasting_text(self) -> str:
        """The text without the seconds."""
        return self._text("")

    def _text(self, seconds: str) -> str:
        if self.held_back:
            when = f"held back {f'for {seconds}' if seconds else 'later'}: {self.held_back}"
        else:
            when = "submitted " + ("next" if self.seconds <= 0 else f"in {seconds}" if seconds else "later")
        return f"waiting for attempt {self.number}, which is {when}" + (f"; {self.before}" if self.before else "")

    @property
    def status(self) -> JobStatus:
        """How the job stands that waits for it. Source: OpenPAI job states, AttemptCompleted."""
        return JobStatus(state="RUNNING", code=None, reason=self.text, ended=False, due=self)


class JobStatus(Struct, frozen=True, kw_only=True):
    """Say how a job stands. `ended` is true when nothing can change any more.

    `waits` is why the backend does not start it, and `since` from when on the journal knows that. `due` is set while
    the next attempt is: then the `reason` begins with the time until it is submitted.
    """

    state: State
    code: int | None
    reason: str
    ended: bool
    waits: tuple[Wait, ...] = ()
    since: int | None = None
    due: DueAttempt | None = None

    @property
    def lasting_reason(self) -> str:
        """The reason as it stays while seconds pass."""
        return self.due.lasting_text if self.due is not None else self.reason


def tells_all(result: Result | None) -> bool:
    """Tell whether nothing that the backend could say has any effect: the outcome is decided, all tasks have ended."""
    decided = result is not None and result.outcome != "interrupted" and result.complete
    return decided and result is not None and result.exit_code not in SLURM_KNOWS_MORE


def determine_status(evidence: Evidence) -> JobStatus:
    """Return how a job stands.

    Believed first: that a node could not begin it; an ending from outside where the script left no outcome of its
    own; then the result; then how the backend says it ended; then that it lives; then what was known last. No answer
    is never an ending.
    """
    if evidence.observation is not None and evidence.observation.state == FORGOTTEN:
        if evidence.result is None:
            return _forgotten(evidence)
        evidence = replace(evidence, observation=None)
    seen, result = evidence.observation, evidence.result
    if evidence.unbegun is not None:
        return JobStatus(state="FAILED", code=evidence.unbegun.code, reason=evidence.unbegun.reason, ended=True)
    undecided = result is None or result.outcome == "interrupted"
    if seen is not None and seen.final and undecided and seen.state not in OF_THE_SCRIPT:
        outside = evidence.table.states.get(seen.state)
        if outside is not None:
            return _from_outside(seen.state, *outside, evidence)
    if result is not None and undecided and result.complete and _is_cancelled(evidence.history):
        assert evidence.history.cancelled is not None
        reason = f"the job was cancelled by {evidence.history.cancelled.user}"
        return JobStatus(state=state_of(result.exit_code), code=result.exit_code, reason=reason, ended=True)
    if result is not None and result.exit_code in SLURM_KNOWS_MORE and evidence.heard < (result.ended_at or 0):
        return _status("RUNNING", f"{result.reason}; {evidence.history.backend_label} has not yet named the node")
    if result is not None and (not undecided or _no_more_is_known(evidence)):
        return _from_result(result, evidence)
    if result is not None:
        asked = evidence.history.cancelled
        unexplained = f"told to end from outside; {evidence.history.backend_label} has not yet said why"
        return _status("STOPPING", f"cancelled by {asked.user}" if asked else unexplained)
    if seen is not None and seen.final:
        return _without_result(seen, evidence)
    if seen is not None:
        return _live(seen.state, seen, evidence)
    return _unknown_to_backend(evidence)


def _status(state: State, reason: str) -> JobStatus:
    return JobStatus(state=state, code=None, reason=reason, ended=False)


def state_of(code: int) -> State:
    """Return the final state that an exit code means. Source: OpenPAI, final state of a job."""
    if code == 0:
        return "SUCCEEDED"
    return "STOPPED" if code in STOP_CODES else "FAILED"


def _from_outside(word: str, row: ExitCode, sentence: str, evidence: Evidence) -> JobStatus:
    asked = evidence.history.cancelled
    # The backend need not say who it was, and the journal knows of the user's own.
    canceller = evidence.canceller or (asked.user if asked is not None and _is_cancelled(evidence.history) else "")
    by = f" by {canceller}" if word == "CANCELLED" and canceller else ""
    reason = _with_lost(sentence + by, evidence.lost)
    return JobStatus(state=state_of(row.code), code=row.code, reason=reason, ended=True)


def _with_lost(reason: str, lost: tuple[str, ...]) -> str:
    """Return a reason with the nodes that were lost, those that it does not name."""
    unnamed = folded(node for node in lost if node not in reason)
    return f"{reason}: {unnamed}" if unnamed else reason


def _is_cancelled(known: History) -> bool:
    """Tell whether its user has had the very job cancelled that runs: nobody needs to say why it was interrupted."""
    return known.cancelled is not None and known.cancelled.job_id == known.job_id != ""


def _no_more_is_known(evidence: Evidence) -> bool:
    """Tell whether the backend has said its last word about an interrupted job."""
    if evidence.observation is not None:
        return evidence.observation.final
    return evidence.backend_reachable


def _from_result(result: Result, evidence: Evidence) -> JobStatus:
    """The outcome stands as soon as it is written; the job has ended when its last task has."""
    seen = evidence.observation
    gone = seen.final if seen is not None else evidence.backend_reachable
    if result.outcome == "interrupted" and seen is not None and evidence.history.cancelled is None:
        # Slurm would say CANCELLED, TIMEOUT and so on. It says FAILED if the script alone got a signal, and in rare
        # cases of a requeue: observed on 22.05, the end of the first run counted as that of the second.
        reason = (
            f"the job was told to end from outside, and {evidence.history.backend_label} says {seen.raw_state}, not why"
        )
        return JobStatus(state=state_of(UNEXPLAINED), code=UNEXPLAINED, reason=reason, ended=True)
    if result.complete or gone:
        reason = _with_lost(result.reason, evidence.lost)
        return JobStatus(state=state_of(result.exit_code), code=result.exit_code, reason=reason, ended=True)
    return _status("RUNNING", f"{result.outcome}, the remaining tasks are being stopped: {result.reason}")


def has_just_ended(seen: Observation, known: History, now: int) -> bool:
    """Tell whether more of an end may be on its way; where clocks differ, from when the end was first seen."""
    last = known.observed
    waited = now - last.happened_at if last is not None and last.backend_state == seen.state else 0
    return waited < RESULT_LAG and now - (seen.ended or 0) < RESULT_LAG


def _without_result(seen: Observation, evidence: Evidence) -> JobStatus:
    """The script ended by itself, and should have left a result."""
    says = f"{evidence.history.backend_label} says {seen.raw_state}"
    has_no_log = not seen.status and seen.signal == NO_LOG
    if seen.status == NOT_SHARED or has_no_log:
        where = f"node {seen.nodes.partition(',')[0]}" if seen.nodes else "the batch node"
        rest = ", or there was no room for its log" if has_no_log else ""
        reason = f"{where} does not see the job's folder {evidence.folder}, which all nodes have to share{rest}"
        return JobStatus(state="FAILED", code=FOLDER_NOT_SHARED, reason=reason, ended=True)
    if has_just_ended(seen, evidence.history, evidence.now):
        return _status("RUNNING", f"{says}; the result is not there yet")
    if seen.status == NO_ROOM:
        reason = (
            f"{says}: nothing more could be written to {evidence.folder}, "
            "because its file system was full, or a quota there was used up"
        )
        return JobStatus(state="FAILED", code=FOLDER_FULL, reason=reason, ended=True)
    if seen.state == "COMPLETED" and not seen.status and not seen.signal:
        return JobStatus(state="SUCCEEDED", code=0, reason=f"{says}; there is no result", ended=True)
    code = 128 + seen.signal if seen.signal else 255
    known = "a status that nobody knows any more" if seen.status is None else f"status {seen.status}"
    how = f"by signal {seen.signal}" if seen.signal else f"with {known}"
    reason = f"{says}: the batch script ended {how} and left no result"
    return JobStatus(state="FAILED", code=code, reason=reason, ended=True)


def _forgotten(evidence: Evidence) -> JobStatus:
    """Nobody will say any more how it ended: what was seen last counts, as soon as no result can be on its way.

    Nor will anybody say that it does not run somewhere all the same, so that it is not retried.
    """
    known = evidence.history
    last, label = known.observed, known.backend_label
    if last is None and evidence.heard - (known.submitted or 0) < QUEUE_LAG:
        return _status("WAITING", f"{label} does not show the job yet")
    if last is None or phase(last.backend_state) is not Phase.ENDED or evidence.now - last.happened_at < RESULT_LAG:
        return _status("RUNNING", f"{label} has forgotten the job; the result is not there yet")
    if known.cancelled is not None:
        return JobStatus(state="STOPPED", code=STOP_CODES[0], reason=f"cancelled by {known.cancelled.user}", ended=True)
    outside = evidence.table.states.get(last.backend_state)
    if outside is not None and last.backend_state not in OF_THE_SCRIPT:
        return JobStatus(state=state_of(outside[0].code), code=outside[0].code, reason=outside[1], ended=True)
    said = f"said {last.backend_state} and " if last.backend_state != FORGOTTEN else ""
    reason = (
        f"{label} {said}has forgotten job {known.job_id}, no accounts tell how it ended, and it left no result in "
        f"{evidence.folder}: its node may have been lost, or does not share that folder"
    )
    return JobStatus(state="FAILED", code=JOB_FORGOTTEN, reason=reason, ended=True)


def _live(word: str, seen: Observation | None, evidence: Evidence) -> JobStatus:
    """A job is RUNNING once a task of it ran. Source: OpenPAI job states."""
    if evidence.history.cancelled is not None:
        return _status("STOPPING", f"cancelled by {evidence.history.cancelled.user}")
    match phase(word):
        case Phase.PENDING:
            return _waiting(seen, evidence)
        case Phase.RUNNING if not evidence.started:
            return _status("WAITING", "the nodes are there, the tasks are being started")
        case Phase.RUNNING | Phase.ENDED:
            return _status("RUNNING", "" if evidence.started else f"{evidence.history.backend_label} says {word}")
        case Phase.UNKNOWN:
            return _status("UNKNOWN", f"{evidence.history.backend_label} says {word}, which this version does not know")


def _waiting(seen: Observation | None, evidence: Evidence) -> JobStatus:
    """A reason stands from when on the journal has it; one that is new is written down with this time."""
    last = evidence.history.observed
    told = seen or last
    found = waits(reasons_of(told), evidence.history) if told else ()
    if not found:
        return _status("WAITING", "")
    new = last is None or (seen is not None and is_news(evidence.history, seen, evidence.now))
    since = evidence.now if last is None or new else last.happened_at
    return replace(_status("WAITING", sentence(found)), waits=found, since=since)


def _unknown_to_backend(evidence: Evidence) -> JobStatus:
    known = evidence.history
    if not known.job_id:
        return _status(
            "WAITING", f"it is being submitted, or {known.backend_label} did not say whether it took the job"
        )
    if not evidence.backend_reachable:
        return _last_known(evidence)
    if evidence.heard - (known.submitted or 0) < QUEUE_LAG:
        return _status("WAITING", f"{known.backend_label} does not show the job yet")
    return _status("UNKNOWN", f"{known.backend_label} does not know job {known.job_id}, and the job left no result")


def _last_known(evidence: Evidence) -> JobStatus:
    last = evidence.history.observed
    if evidence.started:
        return _live("RUNNING", None, evidence)
    if last is None:
        return _status("WAITING", "it has been submitted")
    return _live(last.backend_state, None, evidence)


def state_text(job_status: JobStatus) -> str:
    """Return the state and, of a job that failed or was stopped, its exit code with what OpenPAI calls it."""
    if not job_status.code:
        return job_status.state
    from ..exit_codes.table import exit_codes

    listed = exit_codes().get(job_status.code)
    phrase = f", {listed.phrase}" if listed else ""
    return f"{job_status.state} (exit code {job_status.code}{phrase})"
