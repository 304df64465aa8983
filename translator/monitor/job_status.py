"""Determine a job's status from the facts about its last attempt. This module reads no file and polls nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from paislurm.backends.slurm.states import FORGOTTEN, REUSED, Phase, phase

from ..exit_codes.table import ExitTable
from ..folded_names import folded
from ..state.history import reasons_of
from .waits import is_change, sentence, waits

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
TASK_STOPPED = -220
"""The code of a task that was stopped because the job ended. Source: OpenPAI exit specification."""
STOP_CODES = (-210, TASK_STOPPED)
"""The codes of a STOPPED job: stopped by its user, or by the end of a job. Source: OpenPAI job states."""
LOST_NODES = (-1001, -1006)
"""Codes for which the backend identifies the faulty node better than the script."""
NEEDS_BACKEND = (*LOST_NODES, -1402)
"""Codes of results for which the backend identifies the faulty node, or reports that a node could not start the job."""
SCRIPT_ENDED = ("COMPLETED", "FAILED")
"""The states of Slurm for a script that ended by itself. The script's result says more."""
UNEXPLAINED = -101
"""The code of an unexplained end from outside. Source: OpenPAI exit specification, PodExternalDeleted."""
NEVER_TAKEN = -120
"""The code of an attempt that never reached Slurm, or that Slurm has lost before it began."""
JOB_FORGOTTEN, FOLDER_NOT_SHARED, FOLDER_FULL = -1404, -1405, -1406
"""Exit codes of paislurm; see exit_codes/table.yaml."""
NOT_SHARED = 6
"""The exit status of a batch script that cannot access the job's folder. Source: this project's docs, run folder."""
NO_ROOM = 7
"""The exit status of a batch script that could not write to a full file system.

Source: this project's docs, run folder.
"""
NO_LOG = 53
"""Slurm's signal for a job whose log a node could not open. Source: observed on 22.05."""
RESULT_LAG = 10
"""Seconds until an ended job's result is visible: network file systems show new files late.

This also covers the reason of a drained node, which appears some milliseconds after the job's end. Observed on
22.05.
"""
QUEUE_LAG = 60
"""Seconds until the backend shows a new job."""


class Evidence(Struct, frozen=True, kw_only=True):
    """Hold all facts about a job's last attempt.

    `backend_reachable` tells whether the backend answered. If it did and `observation` is None, it does not know the
    job. `polled_at` is the time of that poll, 0 if there was none. `now` and `polled_at` are seconds since 1970.
    `folder` is the job's folder. `started` tells whether any task ever ran, `claimed` whether the script of this Slurm
    job has begun. `canceller` is the user who cancelled the
    job, according to the backend. `unbegun` explains a cancellation by Slurm itself. `lost` are the nodes whose
    failure ended the job. `table` maps codes and states on this site.
    """

    history: History
    observation: Observation | None
    backend_reachable: bool
    result: Result | None
    started: bool
    now: int
    polled_at: int
    folder: str = ""
    claimed: bool = True
    canceller: str = ""
    unbegun: NodeFailure | None = None
    lost: tuple[str, ...] = ()
    table: ExitTable = field(default_factory=ExitTable)


class DueAttempt(Struct, frozen=True, kw_only=True):
    """Describe the next attempt, which is submitted in `seconds`. `held_back` is the reason for a delay, or "".

    `before` describes the end of the last attempt.
    """

    number: int
    seconds: int
    held_back: str = ""
    before: str = ""

    @property
    def text(self) -> str:
        """The reason why the job waits."""
        return self._text(f"{self.seconds} s")

    @property
    def lasting_text(self) -> str:
        """The text without the seconds."""
        return self._text("")

    def _text(self, seconds: str) -> str:
        if self.held_back:
            when = f"held back{f' for {seconds}' if seconds else ''}: {self.held_back}"
        else:
            when = "submitted " + ("next" if self.seconds <= 0 else f"in {seconds}" if seconds else "later")
        return f"waiting for attempt {self.number}, which is {when}" + (f"; {self.before}" if self.before else "")

    @property
    def status(self) -> JobStatus:
        """The status of a job with a due attempt. Source: OpenPAI job states, AttemptCompleted."""
        return JobStatus(state="RUNNING", code=None, reason=self.text, ended=False, due=self)


class JobStatus(Struct, frozen=True, kw_only=True):
    """Hold a job's status. `ended` is true if nothing can change any more.

    `waits` explains why the backend does not start the job. `since` is when the journal recorded this reason, in
    seconds since 1970. While the next attempt is due, `due` is set, and `reason` contains the seconds until its submit.
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
        """The reason without the seconds, which change."""
        return self.due.lasting_text if self.due is not None else self.reason


def tells_all(result: Result | None) -> bool:
    """Return whether a result is final: the outcome is decided, all tasks have ended, the backend adds nothing."""
    decided = result is not None and result.outcome != "interrupted" and result.complete
    return decided and result is not None and result.exit_code not in NEEDS_BACKEND


def determine_status(evidence: Evidence) -> JobStatus:
    """Return a job's status.

    The first of these that applies decides: the backend has forgotten the job, and there is no result; a node could not
    start the job; an end from outside before the script decided an outcome; the user's cancel; the result; the
    backend's final state; its current state; the last known state. A result with a code of NEEDS_BACKEND waits for
    a later poll. A missing answer never counts as an end.
    """
    if evidence.observation is not None and evidence.observation.state == FORGOTTEN:
        if evidence.result is None or _is_interrupted_for_another(evidence.observation, evidence.result, evidence):
            return _forgotten(evidence)
        evidence = replace(evidence, observation=None)
    observation, result = evidence.observation, evidence.result
    if evidence.unbegun is not None:
        return JobStatus(state="FAILED", code=evidence.unbegun.code, reason=evidence.unbegun.reason, ended=True)
    undecided = result is None or result.outcome == "interrupted"
    if observation is not None and observation.final and undecided and observation.state not in SCRIPT_ENDED:
        external = evidence.table.states.get(observation.state)
        if external is not None:
            return _from_outside(observation.state, *external, evidence)
    if result is not None and undecided and result.complete and _is_cancelled(evidence.history):
        assert evidence.history.cancelled is not None
        reason = f"the job was cancelled by {evidence.history.cancelled.user}"
        return JobStatus(state=state_of(result.exit_code), code=result.exit_code, reason=reason, ended=True)
    if result is not None and result.exit_code in NEEDS_BACKEND and evidence.polled_at < (result.ended_at or 0):
        return _status("RUNNING", f"{result.reason}; {evidence.history.backend_label} has not named the node yet")
    if result is not None and (not undecided or _is_backend_done(evidence)):
        return _from_result(result, evidence)
    if result is not None:
        cancel = evidence.history.cancelled
        unexplained = f"ended from outside; {evidence.history.backend_label} has not reported the cause yet"
        return _status("STOPPING", f"cancelled by {cancel.user}" if cancel else unexplained)
    if observation is not None and observation.final:
        return _without_result(observation, evidence)
    if observation is not None:
        return _active(observation.state, observation, evidence)
    return _unknown_to_backend(evidence)


def _status(state: State, reason: str) -> JobStatus:
    return JobStatus(state=state, code=None, reason=reason, ended=False)


def state_of(code: int) -> State:
    """Return the final state for an exit code. Source: OpenPAI, final state of a job."""
    if code == 0:
        return "SUCCEEDED"
    return "STOPPED" if code in STOP_CODES else "FAILED"


def _from_outside(state: str, row: ExitCode, sentence: str, evidence: Evidence) -> JobStatus:
    cancel = evidence.history.cancelled
    # The backend may not name the user, but the journal records the user's own cancel.
    canceller = evidence.canceller or (cancel.user if cancel is not None and _is_cancelled(evidence.history) else "")
    by = f" by {canceller}" if state == "CANCELLED" and canceller else ""
    reason = _with_lost(sentence + by, evidence.lost)
    return JobStatus(state=state_of(row.code), code=row.code, reason=reason, ended=True)


def _with_lost(reason: str, lost: tuple[str, ...]) -> str:
    """Return a reason with the lost nodes, except those that it already names."""
    named = {word.strip(",.:;") for word in reason.split()}
    unnamed = folded(node for node in lost if node not in named)
    return f"{reason}: {unnamed}" if unnamed else reason


def _restarts(result: Result) -> str:
    """Return the restarts of all tasks in the job, "" for none."""
    if not result.restarts:
        return ""
    lost = folded(restart.lost_node for restart in result.restarts)
    return f"; all tasks had started anew after the loss of {lost}"


def _is_cancelled(known: History) -> bool:
    """Return whether the user cancelled the current Slurm job, which explains its interruption."""
    return known.cancelled is not None and known.cancelled.job_id == known.job_id != ""


def _is_backend_done(evidence: Evidence) -> bool:
    """Return whether the backend's report on an interrupted job is final."""
    if evidence.observation is not None:
        return evidence.observation.final
    return evidence.backend_reachable


def _from_result(result: Result, evidence: Evidence) -> JobStatus:
    """Return the status from a result. Its outcome is final; the job ends when its last task has ended."""
    observation = evidence.observation
    is_done = observation.final if observation is not None else evidence.backend_reachable
    if result.outcome == "interrupted" and observation is not None and evidence.history.cancelled is None:
        # Slurm usually reports CANCELLED, TIMEOUT and so on. It reports FAILED if only the script got a signal, and
        # rarely after a requeue: observed on 22.05, the end of the first run counted as that of the second.
        reason = (
            f"the job was ended from outside, and {evidence.history.backend_label} reports {observation.raw_state} "
            "without the cause"
        )
        return JobStatus(state=state_of(UNEXPLAINED), code=UNEXPLAINED, reason=reason, ended=True)
    if result.complete or is_done:
        reason = _with_lost(result.reason, evidence.lost) + _restarts(result)
        return JobStatus(state=state_of(result.exit_code), code=result.exit_code, reason=reason, ended=True)
    return _status("RUNNING", f"{result.outcome}, the remaining tasks are being stopped: {result.reason}")


def has_just_ended(observation: Observation, known: History, now: int) -> bool:
    """Return whether more facts of an end may follow.

    That is so until RESULT_LAG seconds have passed since the reported end or since the journal recorded it, the
    earlier of both: clocks may differ. It is not so if the backend reports no time of the end.
    """
    last = known.observed
    waited = now - last.happened_at if last is not None and last.backend_state == observation.state else 0
    return waited < RESULT_LAG and now - (observation.ended or 0) < RESULT_LAG


def _without_result(observation: Observation, evidence: Evidence) -> JobStatus:
    """Return the status of a script that ended by itself without a result."""
    report = f"{evidence.history.backend_label} reports {observation.raw_state}"
    has_no_log = not observation.status and observation.signal == NO_LOG
    if observation.status == NOT_SHARED or has_no_log:
        where = f"node {observation.nodes.partition(',')[0]}" if observation.nodes else "the batch node"
        rest = "; or the disk was full when Slurm opened the log" if has_no_log else ""
        reason = f"{where} cannot access the job's folder {evidence.folder}, which all nodes must share{rest}"
        return JobStatus(state="FAILED", code=FOLDER_NOT_SHARED, reason=reason, ended=True)
    if has_just_ended(observation, evidence.history, evidence.now):
        return _status("RUNNING", f"{report}; the result does not exist yet")
    if observation.status == NO_ROOM:
        reason = f"{report}: {evidence.folder} could not be written: its file system or a quota was full"
        return JobStatus(state="FAILED", code=FOLDER_FULL, reason=reason, ended=True)
    if observation.state == "COMPLETED" and not observation.status and not observation.signal:
        if not evidence.claimed:
            # Observed on 22.05 and 26.05: a controller that crashes forgets its latest jobs and reuses their numbers.
            reason = f"{report}, but the script never began: job {observation.job_id} may be another one"
            return JobStatus(state="FAILED", code=NEVER_TAKEN, reason=reason, ended=True)
        return JobStatus(state="SUCCEEDED", code=0, reason=f"{report}; there is no result", ended=True)
    code = 128 + observation.signal if observation.signal else 255
    known = "an unknown status" if observation.status is None else f"status {observation.status}"
    how = f"by signal {observation.signal}" if observation.signal else f"with {known}"
    reason = f"{report}: the batch script ended {how} and left no result"
    return JobStatus(state="FAILED", code=code, reason=reason, ended=True)


def is_anothers(seen: Observation | None) -> bool:
    """Return whether another job has the number of a job; see `job_files.own`."""
    return seen is not None and seen.raw_state == REUSED


def _is_interrupted_for_another(seen: Observation, result: Result, evidence: Evidence) -> bool:
    """Return whether a script was told to end when Slurm had lost its job and had given the number to another one.

    A node that cannot start the other job, because this one still runs there, ends both. No user cancels a job that
    Slurm does not know. Source: observed on 26.05.
    """
    if result.outcome != "interrupted" or not is_anothers(seen) or evidence.history.cancelled is not None:
        return False
    return seen.submitted is not None and result.ended_at is not None and seen.submitted <= result.ended_at


def _forgotten(evidence: Evidence) -> JobStatus:
    """Return the status of a forgotten job. After RESULT_LAG seconds its last reported end decides.

    The job may still run somewhere, so it is not retried, unless another job has its number and it never began, or all
    of its tasks have ended.
    """
    known = evidence.history
    last, label = known.observed, known.backend_label
    if is_anothers(evidence.observation) and not evidence.claimed:
        reason = f"{label} has lost the job before its script began, and job {known.job_id} is another one"
        return JobStatus(state="FAILED", code=NEVER_TAKEN, reason=reason, ended=True)
    if evidence.result is not None and evidence.result.complete:
        reason = f"{label} has lost the job, and its script was told to end when job {known.job_id} was another one"
        return JobStatus(state="FAILED", code=UNEXPLAINED, reason=reason, ended=True)
    if last is None and evidence.polled_at - (known.submitted or 0) < QUEUE_LAG:
        return _status("WAITING", f"{label} does not show the job yet")
    if last is None or phase(last.backend_state) is not Phase.ENDED or evidence.now - last.happened_at < RESULT_LAG:
        return _status("RUNNING", f"{label} has forgotten the job; the result does not exist yet")
    if known.cancelled is not None:
        return JobStatus(state="STOPPED", code=STOP_CODES[0], reason=f"cancelled by {known.cancelled.user}", ended=True)
    external = evidence.table.states.get(last.backend_state)
    if external is not None and last.backend_state not in SCRIPT_ENDED:
        return JobStatus(state=state_of(external[0].code), code=external[0].code, reason=external[1], ended=True)
    reported = f"reported {last.backend_state} and " if last.backend_state != FORGOTTEN else ""
    result = "complete result" if evidence.result else "result"
    reason = (
        f"{label} {reported}has forgotten job {known.job_id}, accounting has no record of its end, and there is no "
        f"{result} in {evidence.folder}: the node may be lost, or may not share that folder"
    )
    return JobStatus(state="FAILED", code=JOB_FORGOTTEN, reason=reason, ended=True)


def _active(state: str, observation: Observation | None, evidence: Evidence) -> JobStatus:
    """Return the status of an active job: RUNNING once one of its tasks ran. Source: OpenPAI job states."""
    if evidence.history.cancelled is not None:
        return _status("STOPPING", f"cancelled by {evidence.history.cancelled.user}")
    match phase(state):
        case Phase.PENDING if evidence.claimed and evidence.started:
            return _status("RUNNING", f"{evidence.history.backend_label} has put the job back into its queue")
        case Phase.PENDING:
            return _waiting(observation, evidence)
        case Phase.RUNNING if not evidence.started:
            return _status("WAITING", "the nodes are allocated, the tasks are starting")
        case Phase.RUNNING | Phase.ENDED:
            return _status("RUNNING", "" if evidence.started else f"{evidence.history.backend_label} reports {state}")
        case Phase.UNKNOWN:
            return _status("UNKNOWN", f"{evidence.history.backend_label} reports the unknown state {state}")


def _waiting(observation: Observation | None, evidence: Evidence) -> JobStatus:
    """Return the status of a waiting job. `since` is when the journal recorded its reason, or now for a new reason."""
    last = evidence.history.observed
    latest = observation or last
    found = waits(reasons_of(latest), evidence.history) if latest else ()
    if not found:
        return _status("WAITING", "")
    new = last is None or (observation is not None and is_change(evidence.history, observation, evidence.now))
    since = evidence.now if last is None or new else last.happened_at
    return replace(_status("WAITING", sentence(found)), waits=found, since=since)


def _unknown_to_backend(evidence: Evidence) -> JobStatus:
    known = evidence.history
    if not known.job_id:
        return _status(
            "WAITING", f"it is being submitted, or {known.backend_label} did not report whether it accepted the job"
        )
    if not evidence.backend_reachable:
        return _last_known(evidence)
    if evidence.polled_at - (known.submitted or 0) < QUEUE_LAG:
        return _status("WAITING", f"{known.backend_label} does not show the job yet")
    return _status("UNKNOWN", f"{known.backend_label} does not know job {known.job_id}, and the job left no result")


def _last_known(evidence: Evidence) -> JobStatus:
    last = evidence.history.observed
    if evidence.started:
        return _active("RUNNING", None, evidence)
    if last is None:
        return _status("WAITING", "it has been submitted")
    return _active(last.backend_state, None, evidence)


def state_text(job_status: JobStatus) -> str:
    """Return the state. For a failed or stopped job, add the exit code and OpenPAI's name of that code."""
    if not job_status.code:
        return job_status.state
    from ..exit_codes.table import exit_codes

    listed = exit_codes().get(job_status.code)
    phrase = f", {listed.phrase}" if listed else ""
    return f"{job_status.state} (exit code {job_status.code}{phrase})"
