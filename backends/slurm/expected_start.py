"""Query the expected start of a script from Slurm, without a submission: one sbatch, and one sinfo for its reasons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from paislurm.backends.slurm.backend import QUERY_SECONDS, SUBMIT_SECONDS
from paislurm.backends.slurm.commands import NODE_COLUMNS, TIMES, sbatch_test_only, sinfo_partitions
from paislurm.backends.slurm.refusals import failure, is_unanswered, slurm_messages
from paislurm.translator.errors import BackendError, RejectedError
from paislurm.translator.plural import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paislurm.backends.runner import CommandRunner, Completed

AT_ONCE_SECONDS = 60
"""A start within this many seconds counts as at once: the controller's clock may differ."""
UP = "up"
_START = re.compile(
    r"^sbatch: Job \d+ to start at (\d{1,15})(?: \w+)? using \d+ processors on (?:nodes )?(\S+)"
    r"(?: in partition (\S+))?$"
)
"""With SLURM_TIME_FORMAT=%s. 26.05 appends an `a` to the time, and omits the partition of a heterogeneous job.

Source: observed on 22.05, 24.11, 26.05.
"""
_PREEMPTS = re.compile(r"^sbatch: +Preempts: ([\d,]+)$")
_FAILURE = re.compile(r"^allocation failure: ")
_SUBMIT_FAILURE = "sbatch: error: Batch job submission failed: "
_WAITS = re.compile(r"Requested nodes are busy|Required node not available")
"""Temporary reasons. Source: slurm_errno.c, ESLURM_NODES_BUSY, ESLURM_NODE_NOT_AVAIL."""
_MAY_WAIT = re.compile(rf"{_WAITS.pattern}|Requested node configuration is not available")
"""Also: a job requests more than any node has, or nodes that are unavailable now. Only the latter can be submitted.
Source: observed on 22.05, 24.11, 26.05."""
_UNAVAILABLE = re.compile(
    r"(?<!powered_)(?<!powering_)down|drain|fail|err|unk|maint|reserved|reboot|inval|block|future|\*"
)
"""Words of states in which no other job can use the node: unavailable, not responding (`idle*`), or reserved for
some. Source: sinfo(1), NODE STATE CODES."""


class Start(Struct, frozen=True, kw_only=True):
    """The expected start of a job: `at` in seconds since 1970, None if unknown because of `reason`.

    `nodes` is a host list; `partition` is "" if Slurm names none; `preempts` are the jobs that would be preempted.
    """

    at: int | None = None
    nodes: str = ""
    partition: str = ""
    preempts: tuple[str, ...] = ()
    reason: str = ""

    def seconds_from(self, now: int) -> int | None:
        """Return the seconds until the start, 0 for at once."""
        if self.at is None:
            return None
        return self.at - now if self.at - now > AT_ONCE_SECONDS else 0


class _Partition(NamedTuple):
    """A partition: `up`, or the state in which it starts no jobs; its nodes, and those that are unavailable."""

    state: str
    node_count: int
    unavailable_count: int
    is_default: bool


def ask_start(runner: CommandRunner, script: str, partitions: Sequence[str], cluster: str = "") -> Start:
    """Return when a script would start; `partitions` are those of its components, `a,b` for alternatives.

    Default: Slurm's default partition. Raises RejectedError if Slurm would reject it or never start it, and
    UnreachableError without an answer.
    """
    argv = sbatch_test_only()
    done = runner.run(argv, stdin=script, env=TIMES, timeout=SUBMIT_SECONDS)
    start, error = Start(), None
    if not done.status:
        start = start_of(done)
    else:
        done = replace(done, stderr=as_of_submit(done.stderr))
        error = failure(argv, done)
        if not isinstance(error, RejectedError) or not _MAY_WAIT.search(done.stderr):
            raise error
    named = [start.partition] if start.partition else [*partitions]
    known = _ask_partitions(runner, named, cluster)
    named = named or [name for name, partition in known.items() if partition.is_default]
    if error is None:
        closed = _closed(named, known)
        return Start(reason=closed) if start.at is not None and closed else start
    away = _unavailable(named, known)
    if not away and not _WAITS.search(done.stderr):
        raise error
    return Start(reason=slurm_messages(done).removeprefix("Batch job submission failed: ") + away)


def start_of(done: Completed) -> Start:
    """Parse sbatch's output for a job that can start; earlier lines may be the site's."""
    lines = done.stderr.splitlines()
    found = next((match for line in reversed(lines) if (match := _START.match(line))), None)
    if found is None:
        return Start(reason=f"its answer is not understood: {slurm_messages(done)}")
    preempts = next((match[1].split(",") for line in reversed(lines) if (match := _PREEMPTS.match(line))), [])
    nodes = "" if found[2] == "(null)" else found[2]
    return Start(at=int(found[1]), nodes=nodes, partition=found[3] or "", preempts=tuple(preempts))


def as_of_submit(stderr: str) -> str:
    """Convert a rejection's text to that of sbatch without `--test-only`."""
    return "".join(_FAILURE.sub(_SUBMIT_FAILURE, line) for line in stderr.splitlines(keepends=True))


def _ask_partitions(runner: CommandRunner, named: Sequence[str], cluster: str) -> dict[str, _Partition]:
    """Return these partitions by name, or all; none if Slurm does not answer."""
    names = dict.fromkeys(name for names in named for name in names.split(","))
    try:
        done = runner.run(sinfo_partitions([*names], cluster), timeout=QUERY_SECONDS)
    except BackendError:
        return {}
    found: dict[str, _Partition] = {}
    for line in "" if is_unanswered(done) else done.stdout.splitlines():
        values = [value.strip() for value in line.split("|")]
        # A line `CLUSTER: far` precedes the nodes of another cluster.
        if len(values) == len(NODE_COLUMNS) + 1:
            _, partition, available, state, _ = values
            name = partition.rstrip("*")
            _, count, away, _ = found.get(name, (UP, 0, 0, False))
            away += _UNAVAILABLE.search(state.lower()) is not None
            found[name] = _Partition(available.lower() or UP, count + 1, away, partition.endswith("*"))
    return found


def _closed(named: Sequence[str], known: dict[str, _Partition]) -> str:
    """Return why a component's partitions start no jobs now, "" if they do; sbatch does not check this."""
    states = {name: partition.state for name, partition in known.items()}
    closed = [names for names in named if all(states.get(name, UP) != UP for name in names.split(","))]
    texts = (
        f"partition {name} is {states[name]}: it starts no jobs now" for names in closed for name in names.split(",")
    )
    return "; ".join(dict.fromkeys(texts))


def _unavailable(named: Sequence[str], known: dict[str, _Partition]) -> str:
    """Return how many nodes of partitions are unavailable, "" if none is."""
    names = dict.fromkeys(name for names in named for name in names.split(","))
    away = [(name, known[name]) for name in names if name in known and known[name].unavailable_count]
    texts = [
        f"{each.unavailable_count} of {counted(each.node_count, 'node')} of partition {name}" for name, each in away
    ]
    return f"; unavailable or reserved now: {' and '.join(texts)}; a job may wait for them" if texts else ""
