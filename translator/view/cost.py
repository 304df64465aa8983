"""Divide the CPU, GPU and node time of a job by its use. Pure; times are seconds since 1970.

The parts of an allocation sum to its nodes, CPUs and GPUs multiplied by its elapsed time, to the second.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from msgspec import Struct

from ..plural import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Use = Literal["productive", "running", "stalled", "staging", "lost", "idle"]
"""A use of nodes, CPUs and GPUs. If tasks on one node differ, the node has the first of their uses in this order."""
USES: tuple[Use, ...] = get_args(Use)


class Key(NamedTuple):
    """A use, and the failure to which time was lost."""

    use: Use
    failure: str = ""


PRODUCTIVE, RUNNING, STALLED, STAGING, IDLE = (
    Key("productive"), Key("running"), Key("stalled"), Key("staging"), Key("idle"),
)  # fmt: skip


class Allocation(Struct, frozen=True, kw_only=True):
    """The nodes of a component in one run. `elapsed` excludes suspension; `node_names` may be incomplete."""

    begins: int
    ends: int
    elapsed: int
    nodes: int
    cpus: int
    gpus: int
    whole_nodes: bool = False
    node_names: tuple[str, ...] = ()
    from_sacct: bool = True


class Work(NamedTuple):
    """The time of a task on its node, the numbers of its CPUs and GPUs, and its use."""

    node: str
    begins: int
    ends: int
    cpus: int
    gpus: int
    key: Key


class AttemptUse(Struct, frozen=True, kw_only=True):
    """An attempt, or a start of it: `key` is the use of its tasks' time, until `mark` productive, in `stalls` stalled.

    `ended_at` is the end of its waiting without an allocation. `restarted` tells all starts from the first one.
    """

    key: Key
    allocations: tuple[Allocation, ...] = ()
    work: tuple[Work, ...] = ()
    mark: int | None = None
    stalls: tuple[tuple[int, int], ...] = ()
    submitted_at: int | None = None
    ended_at: int | None = None
    restarted: bool = False

    def key_at(self, key: Key, at: int) -> Key:
        """Return the use of a moment in the time of a task."""
        if any(begins <= at < ends for begins, ends in self.stalls):
            return STALLED
        return PRODUCTIVE if key.use == "lost" and self.mark is not None and at < self.mark else key


class CostPart(Struct, frozen=True, kw_only=True):
    """The time of one use."""

    use: Use
    """What the nodes did."""
    lost_to: str | None
    """The failure to which the time was lost."""
    node_seconds: int
    """Seconds of all nodes together, of which a job without whole nodes used a part."""
    cpu_seconds: int
    """Seconds of all CPUs together."""
    gpu_seconds: int
    """Seconds of all GPUs together."""


class JobCost(Struct, frozen=True, kw_only=True):
    """The allocated time of a job by its use."""

    parts: tuple[CostPart, ...]
    """The uses; they sum to the allocated time."""
    node_seconds: int
    """The allocated seconds of all nodes together, in all attempts."""
    cpu_seconds: int
    """The allocated seconds of all CPUs together, in all attempts."""
    gpu_seconds: int
    """The allocated seconds of all GPUs together, in all attempts."""
    whole_nodes: bool
    """Whether all nodes were whole ones, of no other job."""
    waiting_seconds: int
    """Seconds in the queue, in all attempts; no nodes were allocated."""
    allocated_attempts: int
    """The number of attempts that had nodes."""
    attempts_not_in_sacct: int
    """The number of these whose allocation is from the job's own records, because sacct does not have it."""


def job_cost(uses: Iterable[AttemptUse]) -> JobCost:
    """Return the cost of attempts, of one job or of several."""
    attempts = tuple(uses)
    nodes: Counter[Key] = Counter()
    cpus: Counter[Key] = Counter()
    gpus: Counter[Key] = Counter()
    waiting = held = unknown = 0
    for attempt in attempts:
        if not attempt.restarted:
            held += bool(attempt.allocations)
            unknown += any(not each.from_sacct for each in attempt.allocations)
        begins = min((each.begins for each in attempt.allocations), default=attempt.ended_at)
        if attempt.submitted_at is not None and begins is not None:
            waiting += max(0, begins - attempt.submitted_at)
        for allocation in attempt.allocations:
            nodes += _node_seconds(attempt, allocation)
            cpus += _unit_seconds(attempt, allocation, "cpus")
            gpus += _unit_seconds(attempt, allocation, "gpus")
    parts = (
        CostPart(
            use=key.use,
            lost_to=key.failure or None,
            node_seconds=nodes[key],
            cpu_seconds=cpus[key],
            gpu_seconds=gpus[key],
        )
        for key in sorted(nodes.keys() | cpus.keys() | gpus.keys(), key=_order)
    )
    return JobCost(
        parts=tuple(parts),
        node_seconds=nodes.total(),
        cpu_seconds=cpus.total(),
        gpu_seconds=gpus.total(),
        whole_nodes=all(each.whole_nodes for use in attempts for each in use.allocations),
        waiting_seconds=waiting,
        allocated_attempts=held,
        attempts_not_in_sacct=unknown,
    )


def _order(key: Key) -> tuple[int, str]:
    return USES.index(key.use), key.failure


def _node_seconds(attempt: AttemptUse, allocation: Allocation) -> Counter[Key]:
    of_node: defaultdict[str, list[tuple[Work, int]]] = defaultdict(list)
    for work in attempt.work:
        of_node[work.node].append((work, 1))
    first = _first_start(attempt, allocation)
    found: Counter[Key] = Counter()
    names = allocation.node_names[: allocation.nodes]
    for name in (*names, *[""] * (allocation.nodes - len(names))):
        own = of_node.get(name, ())
        start = min((work.begins for work, _ in own), default=first)
        found += _divided(attempt, allocation, own, 1, start)
    return _without_suspension(found, allocation, allocation.nodes)


def _unit_seconds(attempt: AttemptUse, allocation: Allocation, unit: Literal["cpus", "gpus"]) -> Counter[Key]:
    """Divide the time of the CPUs or GPUs of an allocation."""
    names, capacity = set(allocation.node_names), getattr(allocation, unit)
    own = [(work, getattr(work, unit)) for work in attempt.work if work.node in names]
    found = _divided(attempt, allocation, own, capacity, _first_start(attempt, allocation))
    return _without_suspension(found, allocation, capacity)


def _first_start(attempt: AttemptUse, allocation: Allocation) -> int | None:
    """Return when the first task started on an allocation, None if none did."""
    names = set(allocation.node_names)
    starts = (work.begins for work in attempt.work if work.node in names and work.begins < allocation.ends)
    return min(starts, default=None)


def _divided(
    attempt: AttemptUse, allocation: Allocation, work: Sequence[tuple[Work, int]], capacity: int, start: int | None
) -> Counter[Key]:
    """Divide the time of some nodes, CPUs or GPUs; each task uses as many as stand beside it.

    Unused ones are in staging until `start`, then idle. Without a start, the attempt never got beyond staging.
    """
    begins, ends = allocation.begins, allocation.ends
    unused = STAGING if attempt.key in (RUNNING, PRODUCTIVE) or start is not None else attempt.key
    start = ends if start is None else start
    changes: defaultdict[int, Counter[Key]] = defaultdict(Counter)
    for each, count in work:
        first, last = max(begins, each.begins), min(ends, each.ends)
        if first < last:
            changes[first][each.key] += count
            changes[last][each.key] -= count
    cuts = [start, *(at for stall in attempt.stalls for at in stall), *([] if attempt.mark is None else [attempt.mark])]
    active: Counter[Key] = Counter()
    found: Counter[Key] = Counter()
    for at, until in pairwise(sorted({begins, ends, *changes, *(cut for cut in cuts if begins < cut < ends)})):
        active.update(changes[at])
        left = capacity
        judged = [(attempt.key_at(key, at), count) for key, count in active.items()]
        for key, count in sorted(judged, key=lambda pair: _order(pair[0])):
            used = min(count, left)
            found[key] += used * (until - at)
            left -= used
        found[unused if at < start else IDLE] += left * (until - at)
    return found


def _without_suspension(found: Counter[Key], allocation: Allocation, count: int) -> Counter[Key]:
    """Take the suspended time from the largest parts: Slurm's elapsed time excludes it, the times of tasks do not."""
    rest = (allocation.ends - allocation.begins - allocation.elapsed) * count
    for key, seconds in found.most_common():
        taken = min(seconds, rest)
        found[key] -= taken
        rest -= taken
    return +found


def cost_rows(cost: JobCost) -> list[tuple[str, ...]]:
    """Return the table of a cost, in the columns of `cost_columns`; the last row is the sum."""
    rows: list[tuple[str, CostPart | JobCost]] = [
        (f"{each.use}: {each.lost_to}" if each.lost_to else each.use, each) for each in cost.parts
    ]
    return [
        (
            words,
            *([_hours(each.node_seconds)] if cost.whole_nodes else []),
            _hours(each.cpu_seconds),
            f"{100 * each.cpu_seconds / (cost.cpu_seconds or 1):.0f} %",
            *([_hours(each.gpu_seconds)] if cost.gpu_seconds else []),
        )
        for words, each in (*rows, ("all", cost))
    ]


def cost_columns(cost: JobCost) -> tuple[str, ...]:
    """Return the names of the columns: node hours if the nodes were whole ones, GPU hours if there were GPUs."""
    nodes, gpus = ["node hours"] * cost.whole_nodes, ["GPU hours"] * bool(cost.gpu_seconds)
    return ("use", *nodes, "CPU hours", "share", *gpus)


def cost_note(cost: JobCost) -> str:
    """Return the source of a cost as a sentence."""
    if not cost.attempts_not_in_sacct:
        return "The allocated time is sacct's."
    which = "all" if cost.attempts_not_in_sacct == cost.allocated_attempts else str(cost.attempts_not_in_sacct)
    attempts = counted(cost.allocated_attempts, "attempt")
    return f"sacct does not have {which} of {attempts}: their time is from the job's own records."


def _hours(seconds: int) -> str:
    return f"{seconds / 3600:.2f}"
