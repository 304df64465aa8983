"""Distinguish a cancellation by Slurm after a failed launch from one by root.

If slurmd cannot start a job, and cannot requeue it because of `--no-requeue`, it cancels the job as root: after a
failed Prolog, or if the job already runs, because a controller that lost its state starts it again. Slurm drains the
node with the reason a moment later, or srun prints the reason. Source: observed on 22.05, with and without
PrologFlags=Alloc.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.slurm.states import BY_NOBODY

from ..files.reading import read_end

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from paislurm.backends.base import Observation

    from ..state.history import History
    from ..state.result import Result

PROLOG_FAILED, NOT_STARTED = -1403, -1402
"""The codes of such an end; see exit_codes/table.yaml."""
BY_ROOT = ("CANCELLED", BY_NOBODY, "CANCELLED by 0")
"""Without accounts, the cancelling user is unknown."""
_NOT_BEGUN = re.compile(r"prolog|launch fail|duplicate job", re.IGNORECASE)
_BEGUN_TWICE = re.compile(r"duplicate job", re.IGNORECASE)
"""Slurm's reasons for a drained node. Source: slurmctld of 22.05, drain_nodes."""
_PROLOG_MESSAGE = re.compile(
    rb"^srun: error: Task launch for .* failed on node ([^ :]+): (.*prolog failed)", re.MULTILINE
)
_RAN_SECONDS = 3
"""A script that ran so long has not begun with a job that lasted one second at most, by whole seconds."""
_LONGEST, _MAX_LOGS = 1 << 16, 500


class NodeFailure(Struct, frozen=True, kw_only=True):
    """The nodes that could not start a job, if they are known, and why."""

    nodes: tuple[str, ...]
    why: str

    @property
    def code(self) -> int:
        """The exit code, one of paislurm's own: OpenPAI has none."""
        return PROLOG_FAILED if "prolog" in self.why.lower() else NOT_STARTED

    @property
    def reason(self) -> str:
        if not self.nodes:
            return f"Slurm cancelled the job: {self.why}"
        return f"Slurm cancelled the job, as root, because it could not start on {', '.join(self.nodes)}: {self.why}"


NO_REASON = NodeFailure(nodes=(), why="its script had not begun, no user cancelled it, and Slurm gives no reason")
"""A controller that lost a job, and then gave its number and its node to another one, gives none."""


STARTED_TWICE = NodeFailure(nodes=(), why="its controller had lost the first start, and started it again")


def may_be_slurms_own(known: History, seen: Observation, result: Result | None) -> bool:
    """Return whether only Slurm or root can have cancelled a job that decided nothing.

    The job had nodes, or no user cancelled it; a job whose dependency can never be satisfied is cancelled by no user.
    """
    if not seen.final or seen.raw_state not in BY_ROOT or known.cancelled is not None:
        return False
    if not seen.nodes and (seen.raw_state != BY_NOBODY or known.dependencies):
        return False
    return result is None or result.outcome == "interrupted" or result.exit_code == NOT_STARTED


def was_started_twice(seen: Observation, result: Result | None) -> bool:
    """Return whether a script ran for seconds in a job that ended at its start, according to Slurm.

    Clocks may differ, durations do not. Source: observed on 22.05.
    """
    if result is None or result.started_at is None or result.ended_at is None:
        return False
    if seen.started is None or seen.ended is None:
        return False
    return seen.ended - seen.started <= 1 and result.ended_at - result.started_at >= _RAN_SECONDS


def node_failure(logs: Path, lost: Mapping[str, str], *, begun: bool) -> NodeFailure | None:
    """Return the failure that prevented such a job from starting, None if root cancelled it.

    `logs` is the folder of srun's messages. `lost` are the job's unavailable nodes, with reasons. If a task has
    `begun`, only srun can report a failed Prolog.
    """
    reported: dict[str, str] = {}
    with suppress(OSError):
        for path in islice(sorted(logs.iterdir()), _MAX_LOGS):
            reported |= _prolog_failures(path)
    counts = _BEGUN_TWICE if begun else _NOT_BEGUN
    reported = reported or {node: why for node, why in lost.items() if counts.search(why)}
    return NodeFailure(nodes=tuple(reported), why=next(iter(reported.values()))) if reported else None


def _prolog_failures(path: Path) -> dict[str, str]:
    """Return the nodes whose Prolog failed according to srun, with its messages."""
    try:
        data, _ = read_end(path, _LONGEST)
    except OSError:
        return {}
    words = (
        (node.decode("ascii", "replace"), why.decode("ascii", "replace")) for node, why in _PROLOG_MESSAGE.findall(data)
    )
    return {node: why for node, why in words if node.isprintable() and why.isprintable()}
