"""The status of a job without a result: from the backend's report, or from the last one. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.slurm.states import ALLOCATED, FORGOTTEN, Phase, phase

from ..state.history import reasons_of
from .job_status import (
    LOST_SECONDS,
    NEVER_TAKEN,
    RESULT_LAG,
    SCRIPT_ENDED,
    STOP_CODES,
    UNEXPLAINED,
    JobStatus,
    is_anothers,
)
from .waits import is_change, sentence, waits

if TYPE_CHECKING:
    from paislurm.backends.base import Observation

    from ..state.history import History
    from .job_status import Evidence

JOB_FORGOTTEN, FOLDER_NOT_SHARED, FOLDER_FULL = -1404, -1405, -1406
"""Exit codes of paislurm; see exit_codes/table.yaml."""
NOT_SHARED = 6
"""The exit status of a batch script that cannot access the job's folder. Source: this project's docs, run folder."""
NO_ROOM = 7
"""The exit status of a batch script that could not write to a full file system. Source: as above."""
INTERRUPTED = 3
"""The exit status of a batch script that was ended from outside. Source: as above."""
NO_LOG = 53
"""Slurm's signal for a job whose log a node could not open. Source: observed on 22.05."""
QUEUE_LAG = 60
"""Seconds until the backend shows a new job."""


def has_just_ended(observation: Observation, known: History, now: int) -> bool:
    """Return whether more facts of an end may follow.

    That is so until RESULT_LAG seconds have passed since the reported end or since the journal recorded it, the
    earlier of both: clocks may differ. It is not so if the backend reports no time of the end.
    """
    last = known.observed
    waited = now - last.happened_at if last is not None and last.backend_state == observation.state else 0
    return waited < RESULT_LAG and now - (observation.ended or 0) < RESULT_LAG


def without_result(observation: Observation, evidence: Evidence) -> JobStatus:
    """Return the status of a script that ended by itself without a result."""
    report = f"{evidence.history.backend_label} reports {observation.raw_state}"
    has_no_log = not observation.status and observation.signal == NO_LOG
    if observation.status == NOT_SHARED or has_no_log:
        where = f"node {observation.nodes.partition(',')[0]}" if observation.nodes else "the batch node"
        rest = "; or the disk was full when Slurm opened the log" if has_no_log else ""
        reason = f"{where} cannot access the job's folder {evidence.folder}, which all nodes must share{rest}"
        return JobStatus.end(FOLDER_NOT_SHARED, reason)
    if has_just_ended(observation, evidence.history, evidence.now):
        return JobStatus.so_far("RUNNING", f"{report}; the result does not exist yet")
    if observation.status == NO_ROOM:
        reason = f"{report}: {evidence.folder} could not be written: its file system or a quota was full"
        return JobStatus.end(FOLDER_FULL, reason)
    if observation.status == INTERRUPTED:
        if evidence.history.cancelled is not None:
            return JobStatus.end(STOP_CODES[0], f"cancelled by {evidence.history.cancelled.user}")
        return JobStatus.end(UNEXPLAINED, f"{report}: the batch script was ended from outside and left no result")
    if observation.state == "COMPLETED" and not observation.status and not observation.signal:
        if not evidence.claimed:
            # Observed on 22.05 and 26.05: a controller that crashes forgets its latest jobs and reuses their numbers.
            reason = f"{report}, but the script never began: job {observation.job_id} may be another one"
            return JobStatus.end(NEVER_TAKEN, reason)
        return JobStatus.end(0, f"{report}; there is no result")
    known = "an unknown status" if observation.status is None else f"status {observation.status}"
    how = f"by signal {observation.signal}" if observation.signal else f"with {known}"
    code = 128 + observation.signal if observation.signal else 255
    return JobStatus.end(code, f"{report}: the batch script ended {how} and left no result")


def forgotten(evidence: Evidence) -> JobStatus:
    """Return the status of a forgotten job. After RESULT_LAG seconds its last reported end decides.

    The job may still run somewhere, so it is not retried, unless another job has its number and it never began, or all
    of its tasks have ended.
    """
    known = evidence.history
    last, label = known.observed, known.backend_label
    if is_anothers(evidence.observation) and not evidence.claimed:
        reason = f"{label} has lost the job before its script began, and job {known.job_id} is another one"
        return JobStatus.end(NEVER_TAKEN, reason)
    if evidence.result is not None and evidence.result.complete:
        reason = f"{label} has lost the job, and its script was told to end when job {known.job_id} was another one"
        return JobStatus.end(UNEXPLAINED, reason)
    if last is None and evidence.polled_at - (known.submitted or 0) < QUEUE_LAG:
        return JobStatus.so_far("WAITING", f"{label} does not show the job yet")
    if last is None or phase(last.backend_state) is not Phase.ENDED or evidence.now - last.happened_at < RESULT_LAG:
        return JobStatus.so_far("RUNNING", f"{label} has forgotten the job; the result does not exist yet")
    if known.cancelled is not None:
        return JobStatus.end(STOP_CODES[0], f"cancelled by {known.cancelled.user}")
    external = evidence.table.states.get(last.backend_state)
    if external is not None and last.backend_state not in SCRIPT_ENDED:
        return JobStatus.end(external[0].code, external[1])
    reported = f"reported {last.backend_state} and " if last.backend_state != FORGOTTEN else ""
    result = "complete result" if evidence.result else "result"
    reason = (
        f"{label} {reported}has forgotten job {known.job_id}, accounting has no record of its end, and there is no "
        f"{result} in {evidence.folder}: the node may be lost, or may not share that folder"
    )
    return JobStatus.end(JOB_FORGOTTEN, reason)


def active(state: str, observation: Observation | None, evidence: Evidence) -> JobStatus:
    """Return the status of an active job: RUNNING once one of its tasks ran. Source: OpenPAI job states."""
    known, label = evidence.history, evidence.history.backend_label
    if known.cancelled is not None:
        return JobStatus.so_far("STOPPING", f"cancelled by {known.cancelled.user}")
    match phase(state):
        case Phase.PENDING if evidence.claimed and evidence.started:
            return JobStatus.so_far("RUNNING", f"{label} has put the job back into its queue")
        case Phase.PENDING:
            return _waiting(observation, evidence)
        case Phase.RUNNING if not evidence.started:
            return JobStatus.so_far("WAITING", ALLOCATED.get(state, "the nodes are allocated, the tasks are starting"))
        case Phase.RUNNING | Phase.ENDED:
            reason = ALLOCATED.get(state, "") if evidence.started else f"{label} reports {state}"
            return JobStatus.so_far("RUNNING", reason)
        case Phase.UNKNOWN:
            return JobStatus.so_far("UNKNOWN", f"{label} reports the unknown state {state}")


def _waiting(observation: Observation | None, evidence: Evidence) -> JobStatus:
    """Return the status of a waiting job. `since` is when the journal recorded its reason, or now for a new reason."""
    last = evidence.history.observed
    latest = observation or last
    found = waits(reasons_of(latest), evidence.history) if latest else ()
    if not found:
        return JobStatus.so_far("WAITING", "")
    new = last is None or (observation is not None and is_change(evidence.history, observation, evidence.now))
    since = evidence.now if last is None or new else last.happened_at
    return replace(JobStatus.so_far("WAITING", sentence(found)), waits=found, since=since)


def unknown_to_backend(evidence: Evidence) -> JobStatus:
    known, label = evidence.history, evidence.history.backend_label
    if not known.job_id:
        reason = f"it is being submitted, or {label} did not report whether it accepted the job"
        return JobStatus.so_far("WAITING", reason)
    if not evidence.backend_reachable:
        return _last_known(evidence)
    if evidence.polled_at - (known.submitted or 0) < QUEUE_LAG:
        return JobStatus.so_far("WAITING", f"{label} does not show the job yet")
    if not evidence.claimable:
        return JobStatus.so_far("UNKNOWN", f"{label} does not know job {known.job_id}, and the job left no result")
    last = known.observed
    since = last.happened_at if last is not None and last.backend_state == FORGOTTEN else evidence.polled_at
    if evidence.polled_at - since >= LOST_SECONDS:
        return JobStatus.end(NEVER_TAKEN, f"{label} has lost the job before its script began")
    reason = f"{label} does not know job {known.job_id}, whose script has not begun"
    return JobStatus.so_far("UNKNOWN", f"{reason}; after {LOST_SECONDS // 60} min, the attempt counts as lost")


def _last_known(evidence: Evidence) -> JobStatus:
    last = evidence.history.observed
    if evidence.started:
        return active("RUNNING", None, evidence)
    if last is None:
        return JobStatus.so_far("WAITING", "it has been submitted")
    if last.backend_state == FORGOTTEN:
        label = evidence.history.backend_label
        return JobStatus.so_far("WAITING", f"{label} did not know the job when it last responded")
    return active(last.backend_state, None, evidence)
