"""The reasons for a job's status, as records that become text where it is shown. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Formatter
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.slurm.states import ALLOCATED, FORGOTTEN

from ..folded_names import folded
from ..view.waits import sentence
from .job_status import LOST_SECONDS

if TYPE_CHECKING:
    from .facts import Facts

_CANCELLED = "cancelled by {user}"
_NO_CAUSE = "the job was ended from outside, and {label} {without}"
_LOST = "{label} has lost the job"
_NO_RESULT = "{label} reports {word}; the result does not exist yet"
_UNLISTED = "{label} does not know job {job}"
_FORGOTTEN = (
    "{label} {reported}has forgotten job {job}, accounting has no record of its end, and there is no {which} in "
    "{folder}: the node may be lost, or may not share that folder"
)
TEXTS = {
    "another job runs the attempt": "job {runner} runs this attempt",
    "another job has its number, its script never began": (
        f"{_LOST} before its script began, and job {{job}} is another one"
    ),
    "another job has its number, its script was ended for that": (
        f"{_LOST}, and its script was told to end when job {{job}} was another one"
    ),
    "forgotten after a cancel": _CANCELLED,
    "forgotten, a cancel takes effect": _CANCELLED,
    "forgotten after an end from outside": "{sentence}",
    "it is not shown yet": "{label} does not show the job yet",
    "forgotten after its script ended": _FORGOTTEN,
    "another job has its number, its script had begun": (
        f"{_LOST}, job {{job}} is another one, and there is no {{which}} in {{folder}}"
    ),
    "forgotten for long, its script had begun": _FORGOTTEN,
    "forgotten, its script had begun": "{label} has forgotten the job; the result does not exist yet",
    "not known, its script may begin or run": f"{_UNLISTED}, and the job left no result",
    "not known for long, its script never began": f"{_LOST} before its script began",
    "not known, its script has not begun": (
        f"{_UNLISTED}, whose script has not begun; after {LOST_SECONDS // 60} min, the attempt counts as lost"
    ),
    "a node could not start it": "{unbegun}",
    "cancelled by nobody while its script ran": _NO_CAUSE,
    "ended from outside": "{outside}",
    "cut off by its user's cancel": "the job was cancelled by {user}",
    "decided, the lost node is not named yet": "{result}; {label} has not named the node yet",
    "cut off, and the cause stays unknown": _NO_CAUSE,
    "decided": "{decided}",
    "decided, tasks are being stopped": "{outcome}, the remaining tasks are being stopped: {result}",
    "cut off after a cancel": _CANCELLED,
    "cut off, the cause is not reported yet": "ended from outside; {label} has not reported the cause yet",
    "the node does not see the folder": (
        "{node} cannot access the job's folder {folder}, which all nodes must share{log}"
    ),
    "ended, and it had not begun so far": _NO_RESULT,
    "ended, its result may come": _NO_RESULT,
    "the folder was full": "{label} reports {word}: {folder} could not be written: its file system or a quota was full",
    "cancelled before it had a folder": _CANCELLED,
    "cut off before it had a folder": (
        "{label} reports {word}: the batch script was ended from outside and left no result"
    ),
    "a success of a script that never began": (
        "{label} reports {word}, but the script never began: job {seen} may be another one"
    ),
    "a limit or a signal ended it, and its script never began": "{label} reports {word}, but the script never began",
    "a success without a result": "{label} reports {word}; there is no result",
    "a failure without a result": "{label} reports {word}: the batch script ended {how} and left no result",
    "not submitted": "it is being submitted, or {label} did not report whether it accepted the job",
    "no answer since the submit": "it has been submitted",
    "no answer, and not known before": "{label} did not know the job when it last responded",
    "being cancelled": _CANCELLED,
    "back in the queue": "{label} has put the job back into its queue",
    "it waits in the queue": "{waits}",
    "its tasks are starting": "{starting}",
    "it ends, and its script never began": "{label} reports {state}",
    "it ends, and no task ran": "{label} reports {state}",
    "it runs": "{running}",
    "a word of a newer Slurm": "{label} reports the unknown state {state}",
}
"""The text of each row of the verdict."""


class Reason(Struct, frozen=True, kw_only=True):
    """Why a job has its status: a row of the verdict, and the values in its text."""

    kind: str
    values: Mapping[str, str]

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        return TEXTS[self.kind].format_map(self.values)


def reason_of(kind: str, facts: Facts) -> Reason:
    """Return the reason of a row of the verdict."""
    names = (name for _, name, _, _ in Formatter().parse(TEXTS[kind]) if name)
    return Reason(kind=kind, values={name: _VALUES[name](facts) for name in names})


def _with_lost(reason: str, lost: tuple[str, ...]) -> str:
    """Return a reason with the lost nodes, except those that it already names."""
    named = {word.strip(",.:;") for word in reason.split()}
    unnamed = folded(node for node in lost if node not in named)
    return f"{reason}: {unnamed}" if unnamed else reason


def _outside(facts: Facts) -> str:
    # The backend may not name the user, but the journal records the user's own cancel.
    user = facts.canceller or facts.cancelled_by
    by = f" by {user}" if facts.seen.state == "CANCELLED" and user else ""
    return _with_lost(facts.table.states[facts.seen.state][1] + by, facts.lost)


def _decided(facts: Facts) -> str:
    """Return the reason of a result, with the restarts of all tasks in the job."""
    restarted = folded(each.lost_node for each in facts.result.restarts) if facts.result else ""
    more = f"; all tasks had started anew after the loss of {restarted}" if restarted else ""
    return _with_lost(facts.result.reason if facts.result else "", facts.lost) + more


_VALUES: Mapping[str, Callable[[Facts], str]] = {
    "label": lambda f: f.history.backend_label,
    "job": lambda f: f.history.job_id,
    "seen": lambda f: f.seen.job_id,
    "folder": lambda f: f.folder,
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
