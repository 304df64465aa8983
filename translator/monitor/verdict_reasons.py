"""The reasons of the verdict's rows, from the facts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Formatter
from typing import TYPE_CHECKING

from paislurm.backends.slurm.job_states import ALLOCATED, FORGOTTEN

from ..folded_names import folded
from ..view.reasons import TEXTS, Reason
from ..view.waits import sentence
from .job_status import LOST_SECONDS

if TYPE_CHECKING:
    from .facts import View


def reason_of(kind: str, facts: View) -> Reason:
    """Return the reason of a row of the verdict."""
    names = (name for _, name, _, _ in Formatter().parse(TEXTS[kind]) if name)
    return Reason(kind=kind, values={name: _VALUES[name](facts) for name in names})


def _lost(facts: View) -> str:
    """Return the lost nodes, except those that the result's reason names: its script knew the tasks there as lost."""
    result = facts.result
    named = {task.node for task in result.tasks if task.exit_code == result.exit_code} if result else set()
    unnamed = folded(node for node in facts.lost if node not in named)
    return f": {unnamed}" if unnamed else ""


def _outside(facts: View) -> str:
    # The backend may not name the user, but the journal records the user's own cancel.
    user = facts.canceller or facts.cancelled_by
    by = f" by {user}" if facts.seen.state == "CANCELLED" and user else ""
    return facts.table.states[facts.seen.state][1] + by + (f": {folded(facts.lost)}" if facts.lost else "")


def _decided(facts: View) -> str:
    """Return the reason of a result, with the restarts of all tasks in the job."""
    restarted = folded(each.lost_node for each in facts.result.restarts) if facts.result else ""
    more = f"; all tasks had started anew after the loss of {restarted}" if restarted else ""
    return (facts.result.reason if facts.result else "") + _lost(facts) + more


_VALUES: Mapping[str, Callable[[View], str]] = {
    "label": lambda f: f.history.backend_label,
    "minutes": lambda _: str(LOST_SECONDS // 60),
    "job": lambda f: f.history.job_id,
    "seen": lambda f: f.seen.job_id,
    "folder": lambda f: str(f.folder.path),
    "runner": lambda f: f.runner,
    "user": lambda f: f.history.cancelled.user if f.history.cancelled else "",
    "word": lambda f: f.seen.raw_state,
    "state": lambda f: f.last_state,
    "starting": lambda f: ALLOCATED.get(f.last_state, "the nodes are allocated, the tasks are starting"),
    "running": lambda f: ALLOCATED.get(f.last_state, ""),
    "sentence": lambda f: f.table.states[f.seen_end][1] + ("" if f.claimed else "; the script never began"),
    "without": lambda f: (
        "does not know it" if f.seen.state in ("", FORGOTTEN) else f"reports {f.seen.raw_state} without the cause"
    ),
    "outside": _outside,
    "result": lambda f: f.result.reason if f.result else "",
    "decided": _decided,
    "outcome": lambda f: f.result.outcome if f.result else "",
    "reported": lambda f: f"reported {f.seen_end} and " if f.seen_end not in ("", FORGOTTEN) else "",
    "which": lambda f: "complete result" if f.result else "result",
    "unbegun": lambda f: f.unbegun.reason if f.unbegun else "",
    "node": lambda f: f"node {f.seen.nodes.partition(',')[0]}" if f.seen.nodes else "the batch node",
    "log": lambda f: "" if f.seen.status else "; or the disk was full when Slurm opened the log",
    "how": lambda f: (
        f"by signal {f.seen.signal}"
        if f.seen.signal
        else f"with {'an unknown status' if f.seen.status is None else f'status {f.seen.status}'}"
    ),
    "waits": lambda f: sentence(f.waits),
}
