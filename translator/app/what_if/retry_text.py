"""Whether, when and where a job is retried, and on which budget, in sentences. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...monitor.job_status import state_of
from ...monitor.reconcile import REFUSED, REFUSED_SECONDS
from ...monitor.retry import (
    DEADLINE,
    MAX_CONFLICT,
    MIN_CONFLICT,
    NEVER_RETRIED,
    RetryAfter,
    StopRetrying,
    conflict_delay,
)  # fmt: skip
from .rule_text import after_text

if TYPE_CHECKING:
    from .play import Played, Setting


def delays(played: Played) -> tuple[int | None, int | None]:
    retry, decision = played.retry, played.decision
    if retry is None or not isinstance(decision, RetryAfter):
        return None, None
    if retry.behaviour == "conflict" and decision.delay == conflict_delay(played.known.tag):
        return MIN_CONFLICT, MAX_CONFLICT
    return decision.delay, decision.delay


def retry_text(played: Played, setting: Setting) -> str:
    """Return whether and when the job is retried, and by which rule."""
    retry = played.retry
    if retry is None:
        return f"none: {_no_retry(played, setting)}"
    least, most = delays(played)
    when = after_text(least or 0) if least == most else f"after {least} to {most} s"
    left_out = f"; {', '.join(played.excluded_nodes)} left out" if played.excluded_nodes else ""
    return f"attempt {retry.attempt + 1} {when}; {retry.retry_rule}{left_out}"


def _retry_key(setting: Setting) -> str:
    """Return the key of the job's budget in the job file."""
    compiled = setting.compiled
    return "jobRetryCount" if compiled.plan.protocol == "2" and compiled.job.retry_limit >= 0 else "retryCount"


def _no_retry(played: Played, setting: Setting) -> str:
    ending, decision = played.ending, played.decision
    assert ending is not None, "the attempt has ended"
    if isinstance(decision, RetryAfter):
        return "the user cancelled the job"
    if isinstance(decision, StopRetrying) and decision.rule not in ("", NEVER_RETRIED):
        return decision.rule
    if ending.code == 0:
        return "the job has succeeded"
    if state_of(ending.code) == "STOPPED":
        return "a stopped job is not retried"
    if ending.behaviour == "unknown":
        return f"{_retry_key(setting)} is 0"
    note = " unless the job sets `extras.slurm.onTimeout: retry`" if ending.code == DEADLINE else ""
    return f"code {ending.code} is permanent, which is never retried{note}"


def submission_text(played: Played, setting: Setting) -> str:
    """Return what happens to an attempt that Slurm refuses."""
    refused, known = played.refusals[-1], played.known
    if not played.number and not refused.reached:
        return "`paislurm submit` fails; if Slurm may have got the job, its message names the job"
    if not played.number:
        seconds = setting.compiled.site.retry.submit_wait
        wait = f". It waits for a limit on queued jobs first, up to {seconds} s" * bool(seconds)
        return f"`paislurm submit` prints Slurm's message and fails; no job is left{wait}"
    times = f" {len(played.refusals)} times" if len(played.refusals) > 1 else ""
    if known.ended is not None:
        return f"refused{times}: the job ends with code {REFUSED}"
    again = f"submitted again after {refused.retry_at - refused.happened_at} s"
    if not refused.reached:
        return f"Slurm does not answer{times}: {again}, and so on until it does"
    return f"refused{times}: {again}, and so on for {REFUSED_SECONDS // 60} min; then the job ends with code {REFUSED}"
