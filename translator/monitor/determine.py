"""Determine a job's status from the facts about its last attempt. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.slurm.states import BY_NOBODY, FORGOTTEN

from ..folded_names import folded
from .job_status import NEEDS_BACKEND, SCRIPT_ENDED, UNEXPLAINED, JobStatus, is_anothers
from .without_result import active, forgotten, unknown_to_backend, without_result

if TYPE_CHECKING:
    from paislurm.backends.base import Observation

    from ..exit_codes.table import ExitCode
    from ..state.history import History
    from ..state.result import Result
    from .job_status import Evidence


def determine_status(evidence: Evidence) -> JobStatus:
    """Return a job's status.

    The first of these that applies decides: the backend has forgotten the job, and there is no result; a node could not
    start the job; an end from outside before the script decided an outcome; the user's cancel; the result; the
    backend's final state; its current state; the last known state. A result with a code of NEEDS_BACKEND waits for
    a later poll. A missing answer never counts as an end.
    """
    if evidence.observation is not None and evidence.observation.state == FORGOTTEN:
        if evidence.result is None or _is_interrupted_for_another(evidence.observation, evidence.result, evidence):
            return forgotten(evidence)
        evidence = replace(evidence, observation=None)
    observation, result = evidence.observation, evidence.result
    if evidence.unbegun is not None:
        return JobStatus.end(evidence.unbegun.code, evidence.unbegun.reason)
    label = evidence.history.backend_label
    undecided = result is None or result.outcome == "interrupted"
    if observation is not None and observation.final and undecided and observation.state not in SCRIPT_ENDED:
        external = evidence.table.states.get(observation.state)
        if external is not None:
            return _from_outside(observation, *external, evidence)
    if result is not None and undecided and result.complete and _is_cancelled(evidence.history):
        assert evidence.history.cancelled is not None
        return JobStatus.end(result.exit_code, f"the job was cancelled by {evidence.history.cancelled.user}")
    if result is not None and result.exit_code in NEEDS_BACKEND and evidence.polled_at < (result.ended_at or 0):
        return JobStatus.so_far("RUNNING", f"{result.reason}; {label} has not named the node yet")
    if result is not None and (not undecided or _is_backend_done(evidence)):
        return _from_result(result, evidence)
    if result is not None:
        cancel = evidence.history.cancelled
        unexplained = f"ended from outside; {label} has not reported the cause yet"
        return JobStatus.so_far("STOPPING", f"cancelled by {cancel.user}" if cancel else unexplained)
    if observation is not None and observation.final:
        return without_result(observation, evidence)
    if observation is not None:
        return active(observation.state, observation, evidence)
    return unknown_to_backend(evidence)


def _is_interrupted_for_another(seen: Observation, result: Result, evidence: Evidence) -> bool:
    """Return whether a script was told to end when Slurm had lost its job and had given the number to another one.

    A node that cannot start the other job, because this one still runs there, ends both. No user cancels a job that
    Slurm does not know. Source: observed on 26.05.
    """
    if result.outcome != "interrupted" or not is_anothers(seen) or evidence.history.cancelled is not None:
        return False
    return seen.submitted is not None and result.ended_at is not None and seen.submitted <= result.ended_at


def _from_outside(observation: Observation, row: ExitCode, sentence: str, evidence: Evidence) -> JobStatus:
    cancel = evidence.history.cancelled
    if observation.raw_state == BY_NOBODY and evidence.claimed and cancel is None:
        return _without_cause(observation, evidence)
    # The backend may not name the user, but the journal records the user's own cancel.
    canceller = evidence.canceller or (cancel.user if cancel is not None and _is_cancelled(evidence.history) else "")
    by = f" by {canceller}" if observation.state == "CANCELLED" and canceller else ""
    return JobStatus.end(row.code, _with_lost(sentence + by, evidence.lost))


def _without_cause(observation: Observation, evidence: Evidence) -> JobStatus:
    """Return the end of a script that ran when the job was ended, by no user.

    Slurm reports that no user cancelled it if its controller, started anew, had the job as a waiting one when the
    script ended. Source: observed on 22.05.
    """
    label = evidence.history.backend_label
    reason = f"the job was ended from outside, and {label} reports {observation.raw_state} without the cause"
    return JobStatus.end(UNEXPLAINED, reason)


def _with_lost(reason: str, lost: tuple[str, ...]) -> str:
    """Return a reason with the lost nodes, except those that it already names."""
    named = {word.strip(",.:;") for word in reason.split()}
    unnamed = folded(node for node in lost if node not in named)
    return f"{reason}: {unnamed}" if unnamed else reason


def _restarts(result: Result) -> str:
    """Return the restarts of all tasks in the job, "" for none."""
    lost = folded(restart.lost_node for restart in result.restarts)
    return f"; all tasks had started anew after the loss of {lost}" if lost else ""


def _is_cancelled(known: History) -> bool:
    """Return whether the user cancelled the current Slurm job, which explains its interruption."""
    return known.cancelled is not None and known.cancelled.job_id == known.job_id != ""


def _is_backend_done(evidence: Evidence) -> bool:
    """Return whether the backend's report on a job is final."""
    return evidence.observation.final if evidence.observation is not None else evidence.backend_reachable


def _from_result(result: Result, evidence: Evidence) -> JobStatus:
    """Return the status from a result. Its outcome is final; the job ends when its last task has ended."""
    observation = evidence.observation
    if result.outcome == "interrupted" and observation is not None and evidence.history.cancelled is None:
        # Slurm usually reports CANCELLED, TIMEOUT and so on. It reports FAILED if only the script got a signal, and
        # rarely after a requeue: observed on 22.05, the end of the first run counted as that of the second.
        return _without_cause(observation, evidence)
    if result.complete or _is_backend_done(evidence):
        return JobStatus.end(result.exit_code, _with_lost(result.reason, evidence.lost) + _restarts(result))
    return JobStatus.so_far("RUNNING", f"{result.outcome}, the remaining tasks are being stopped: {result.reason}")
