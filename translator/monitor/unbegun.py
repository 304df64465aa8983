"""A job that Slurm itself cancelled because a node could not begin it, told from one that root cancelled.

What slurmd cannot start, and cannot requeue because of `--no-requeue`, it cancels as root: after a Prolog that failed,
or where the job runs already, which a controller that lost its state begins a second time. The node is drained with the
reason a moment later, or srun has said it. Source: observed on 22.05, with and without PrologFlags=Alloc.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from ..state.safe_read import read_end

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from paislurm.backends.base import Observation

    from ..state.history import History
    from ..state.result import Result

PROLOG_FAILED, NOT_STARTED = -1403, -1402
"""The codes of such an end; see exit_codes/table.yaml."""
BY_ROOT = ("CANCELLED", "CANCELLED by 0")
"""Where a site keeps no accounts, nobody knows who cancelled."""
_NOT_BEGUN = re.compile(r"prolog|launch fail|duplicate job", re.IGNORECASE)
_BEGUN_TWICE = re.compile(r"duplicate job", re.IGNORECASE)
"""Slurm's reasons for which a node is drained. Source: slurmctld of 22.05, drain_nodes."""
_SAID = re.compile(rb"^srun: error: Task launch for .* failed on node ([^ :]+): (.*prolog failed)", re.MULTILINE)
_LONGEST, _MAX_LOGS = 1 << 16, 500


class NodeFailure(Struct, frozen=True, kw_only=True):
    """Name the nodes that could not begin a job, and say why."""

    nodes: tuple[str, ...]
    why: str

    @property
    def code(self) -> int:
        """OpenPAI has none for it; these are this program's own."""
        return PROLOG_FAILED if "prolog" in self.why.lower() else NOT_STARTED

    @property
    def reason(self) -> str:
        """One sentence."""
        return f"Slurm cancelled the job, as root, because it could not begin on {', '.join(self.nodes)}: {self.why}"


def may_be_slurms_own(known: History, seen: Observation, result: Result | None) -> bool:
    """Tell whether nobody but Slurm or root can have cancelled a job, which had nodes and decided nothing."""
    if not seen.final or seen.raw_state not in BY_ROOT or not seen.nodes or known.cancelled is not None:
        return False
    return result is None or result.outcome == "interrupted" or result.exit_code == NOT_STARTED


def node_failure(logs: Path, lost: Mapping[str, str], *, begun: bool) -> NodeFailure | None:
    """Return what kept such a job from beginning, None where it was root.

    `logs` is the folder of what srun said, `lost` its nodes that are out of order, with reasons; `begun` whether a task
    has begun: then a Prolog's failure is srun's to tell.
    """
    told: dict[str, str] = {}
    with suppress(OSError):
        for path in islice(sorted(logs.iterdir()), _MAX_LOGS):
            told |= _said_of_nodes(path)
    counts = _BEGUN_TWICE if begun else _NOT_BEGUN
    told = told or {node: why for node, why in lost.items() if counts.search(why)}
    return NodeFailure(nodes=tuple(told), why=next(iter(told.values()))) if told else None


def _said_of_nodes(path: Path) -> dict[str, str]:
    """Return the nodes of which srun said that their Prolog failed."""
    try:
        data, _ = read_end(path, _LONGEST)
    except OSError:
        return {}
    words = ((node.decode("ascii", "replace"), why.decode("ascii", "replace")) for node, why in _SAID.findall(data))
    return {node: why for node, why in words if node.isprintable() and why.isprintable()}
