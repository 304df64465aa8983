"""Name the nodes that ended a job: distinguish a cancellation by Slurm after a failed launch from one by root.

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
from msgspec.structs import replace

from paislurm.backends.hostlist import expand
from paislurm.backends.slurm.job_states import BY_NOBODY

from ..exit_codes.codes import NOT_STARTED, PROLOG_FAILED
from ..files.names import STEPS
from ..files.reading import read_end
from .job_files import reports_of
from .job_status import LOST_NODES, RESULT_LAG, has_just_ended

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from paislurm.backends.base import Backend, Observation

    from ..exit_codes.table import ExitTable
    from ..state.history import History
    from ..state.result import Result
    from .facts import View

BY_ROOT = ("CANCELLED", BY_NOBODY, "CANCELLED by 0")
"""Without accounts, the cancelling user is unknown."""
_NOT_BEGUN = re.compile(r"prolog|launch fail|duplicate job", re.IGNORECASE)
_BEGUN_TWICE = re.compile(r"duplicate job", re.IGNORECASE)
"""Slurm's reasons for a drained node. Source: slurmctld of 22.05, drain_nodes."""
_PROLOG_MESSAGE = re.compile(
    rb"^srun: error: Task launch for .* failed on node ([^ :]+): (.*prolog failed)", re.MULTILINE
)
_PROLOG_ERROR = re.compile(rb"^Error running slurm prolog: [0-9]+", re.MULTILINE)
"""Source: slurmd, _prolog_error; observed on 22.05."""
_RAN_SECONDS, _START_SECONDS = 3, 5
"""A script that ran so long has not begun with a job that lasted one second at most, by whole seconds. A job that
lasted no longer than the second number, and whose script had not begun, was most likely not cancelled by root."""
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
"""Its script ran for seconds, but the job ended at its start. Clocks differ, durations do not: observed on 22.05."""
AT_ITS_START = NodeFailure(nodes=(), why="it ended at its start, no task had begun, and Slurm gives no reason")
"""So a failed Prolog looks, with PrologFlags=Alloc, after its node was resumed. Source: observed on 22.05."""


def investigated(
    files: View,
    seen: Observation,
    result: Result | None,
    backend: Callable[[str], Backend],
    now: int,
    *,
    claimed: bool,
) -> tuple[Observation, NodeFailure | None]:
    """Return the observation of a job that Slurm may have cancelled itself, and Slurm's cause, None if that was root.

    The observation is not final while more facts may follow. `claimed` tells whether the script has begun. Raises
    BackendError.
    """
    folder, known = files.folder, files.history
    has_started_tasks = result is not None and any(task.started_at for task in result.tasks)
    has_begun = has_started_tasks or any(reports_of(folder, known).values())
    # A script that got a signal after tasks had started got it from root.
    lost = backend(known.backend).unavailable_nodes(seen.nodes) if seen.nodes and not has_started_tasks else {}
    failure = node_failure(folder.attempt(known.attempt) / STEPS, lost, begun=has_begun)
    lasted = seen.ended - seen.started if seen.started is not None and seen.ended is not None else _START_SECONDS + 1
    ran = (result.ended_at or 0) - (result.started_at or result.ended_at or 0) if result is not None else 0
    if failure is None and lasted <= 1 and ran >= _RAN_SECONDS:
        failure = STARTED_TWICE
    if failure is None and result is None and not (claimed or has_begun):
        failure = _in_batch_log(folder.batch_log(known.attempt), seen)
    if failure is not None or has_started_tasks:
        return seen, failure
    if has_just_ended(seen, known, now):
        return replace(seen, final=False), None
    if not claimed and seen.raw_state == BY_NOBODY:
        return seen, NO_REASON
    short = not has_begun and lasted <= (1 if claimed else _START_SECONDS)
    return seen, AT_ITS_START if short and seen.nodes else None


def may_be_slurms_own(known: History, seen: Observation, result: Result | None) -> bool:
    """Return whether only Slurm or root can have cancelled a job that decided nothing.

    The job had nodes, or no user cancelled it; a job whose dependency can never be satisfied is cancelled by no user.
    """
    by_slurm_or_root = seen.final and seen.raw_state in BY_ROOT and known.cancelled is None
    no_user = seen.raw_state == BY_NOBODY and not known.dependencies
    undecided = result is None or result.outcome == "interrupted" or result.exit_code == NOT_STARTED
    return by_slurm_or_root and bool(seen.nodes or no_user) and undecided


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


def _in_batch_log(path: Path, seen: Observation) -> NodeFailure | None:
    """Return the failure of a Prolog on the batch node, the first one, which slurmd writes into the batch log."""
    with suppress(OSError, ValueError):
        found = _PROLOG_ERROR.search(read_end(path, _LONGEST)[0])
        return NodeFailure(nodes=tuple(expand(seen.nodes)[:1]), why=found[0].decode("ascii")) if found else None
    return None


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


def lost_nodes(
    known: History,
    seen: Observation | None,
    result: Result | None,
    table: ExitTable,
    backend: Callable[[str], Backend],
    *,
    claimed: bool,
) -> tuple[str, ...]:
    """Return the nodes whose failure ended a job: those that are unavailable, else the batch script's node.

    The batch script's node is lost if the script started and left no result, or noticed the end late, or if it is
    the only node. It may be available again by now. Raises BackendError.
    """
    if seen is None or not seen.final or not seen.nodes:
        return ()
    outside = table.states.get(seen.state)
    codes = (outside[0].code if outside else 0, result.exit_code if result else 0)
    if not set(codes) & {*LOST_NODES}:
        return ()
    lost = backend(known.backend).unavailable_nodes(seen.nodes)
    is_cut_off = result is None or (result.ended_at or 0) - (seen.ended or 0) > RESULT_LAG
    with suppress(ValueError):
        nodes = expand(seen.nodes)
        if not lost and (len(nodes) == 1 or (claimed and is_cut_off)):
            return tuple(nodes[:1])
    return tuple(lost)
