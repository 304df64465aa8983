"""The faults of rehearsals: which a job can have, and how a plain user provokes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from paislurm.backends.base import LOCAL, JobId
from paislurm.backends.slurm.commands import number_of
from paislurm.backends.slurm.steps import srun_beside

from ...shipped import shipped_text
from ..task_facts import running_roles
from ..tasks.attaching import call_of_task, run_beside
from ..what_if.outcome import answered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...monitor.facts import View
    from ...pipeline import Compiled
    from ..session import Session

Fault = Literal["term", "kill", "node", "stall"]

TEXTS: Mapping[Fault, str] = {
    "term": "TERM to all tasks, and KILL after the grace time",
    "kill": "KILL of the processes of one task",
    "node": "KILL of all processes on one node",
    "stall": "STOP of the processes of one task",
}
_SCENARIOS: Mapping[Fault, str] = {
    "term": "TIMEOUT",
    "kill": "{} exits 137",
    "node": "a node is lost",
    "stall": "{} gets code -1407",
}
"""The faults as scenarios of `paislurm explain --when`."""
_SCRIPT = "templates/rehearsal.sh"
_BROKEN = "broken"


def policy_text(session: Session, compiled: Compiled, fault: Fault) -> str:
    """Return what the policies of a job do after a fault of its first task."""
    task = f"{compiled.job.roles[0].name}-0"
    attempt = answered(compiled, _SCENARIOS[fault].format(task), session.user).attempts[0]
    if attempt.retry_rule is None:
        return f"the policies let the attempt go on: {attempt.rule}"
    return f"next attempt by the policies: {attempt.retry_rule}"


def why_not(fault: Fault, compiled: Compiled, patience: float) -> str:
    """Return why a job cannot have a fault, "" if it can as far as the plan shows."""
    if fault == "stall":
        guard = compiled.plan.roles[0].progress
        if guard is None:
            return "the job has no stall guard (`extras.slurm.progress`): nothing would notice it before the time limit"
        seconds = (guard.within + guard.warm_up).total_seconds()
        if seconds >= patience:
            return f"the stall guard waits up to {seconds:g} s: give a longer --patience, or the guard a shorter time"
    return ""


def remark(session: Session, compiled: Compiled, fault: Fault, backend: str) -> str | None:
    """Return how a provoked fault differs from the real one, None if it does not."""
    if fault == "term" and backend == LOCAL:
        return "TERM comes from a shutdown of the local node, not from the time limit, so `onTimeout` has no effect"
    if fault == "node" and backend != LOCAL:
        real = policy_text(session, compiled, fault)
        return f"users cannot take a node down: killed processes stand in for a lost node; after a real loss: {real}"
    return None


def provoke(session: Session, compiled: Compiled, view: View, fault: Fault) -> str:
    """Provoke a fault in the running attempt of a job; return why that failed, or ""."""
    known = view.history
    if known.backend == LOCAL and fault in ("term", "node"):
        from paislurm.backends.local.local_job import lose_node, shut_down

        (shut_down if fault == "term" else lose_node)(session.store.home.absolute() / LOCAL / known.job_id)
        return ""
    if fault == "term":
        _end_soon(session, compiled, view)
        return ""
    roles = running_roles(view)
    if not roles:
        return "no task runs any more"
    if fault == "node":
        role, node = roles[-1], roles[-1].tasks[-1].node or ""
        words = ["bash", "-c", shipped_text(_SCRIPT), fault, node, str(view.folder.path)]
        components = () if role.component is None else (role.component,)
        return _run(session, view, srun_beside(number_of(JobId(known.job_id)), [node], components, words))
    task, command = f"{roles[0].name}-{roles[0].tasks[0].index}", ["bash", "-c", shipped_text(_SCRIPT), fault]
    return _run(session, view, call_of_task(session, view.folder, task, command)[0].argv)


def _run(session: Session, view: View, argv: Sequence[str]) -> str:
    done = run_beside(session, view.history, argv)
    said = done.stdout.split("\n", 1)[0] or done.stderr.strip().rpartition("\n")[2]
    return "" if _BROKEN in done.stdout.splitlines() else said or f"srun exited with {done.status}"


def _end_soon(session: Session, compiled: Compiled, view: View) -> None:
    """Lower the time limit of the running attempt, in whole minutes, so that it ends in one to two minutes."""
    known, limit = view.history, compiled.plan.times.limit
    minutes = int(session.clock() - view.folder.claim(0).stat().st_mtime) // 60 + 2
    if limit is None or minutes * 60 < limit.total_seconds():
        session.backend(known.backend).change(JobId(known.job_id), {"time": f"{minutes}:00"})
