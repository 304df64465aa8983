"""Changes that users made to waiting or running jobs, as the journal records them. Pure.

A change maps names to texts: options of sbatch (`OPTIONS`), the retry limit (`RETRIES`), and whether a waiting
attempt is held (`HELD`). A retry with more memory or time is a change, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from .parsed import parse_int

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .history import History
    from .journal_records import Changed, RetryPolicy

OPTIONS = ("time", "partition", "account", "qos", "nice")
"""Options of sbatch that can be changed; `time` is written as by `slurm_time`."""
RETRIES = "retries"
HELD = "held"
MEMORY, TIME = "memory", "time"
"""What a retry may request more of; the memory is that of the roles, for people."""
YES, NO = "yes", "no"
MAX_RETRIES = 1_000_000


def changed_options(changes: Iterable[Changed]) -> dict[str, str]:
    """Return the options that replace the script's in future attempts; the latest value wins."""
    return {name: change.values[name] for change in changes for name in OPTIONS if name in change.values}


def memory_step(changes: Iterable[Changed]) -> int:
    """Return how often the memory has grown: the number of the script of future attempts."""
    return sum(MEMORY in change.values for change in changes)


def retry_limit(values: Mapping[str, str]) -> int | None:
    """Return the retry limit that a change sets, None if it sets none."""
    number = parse_int(values.get(RETRIES, ""))
    return number if number is not None and 0 <= number <= MAX_RETRIES else None


def policy_at(known: History, time: int) -> RetryPolicy:
    """Return the retry policy of a job at a time, in seconds since 1970: later changes of its limit do not count."""
    for change in known.changes:
        if change.happened_at > time and retry_limit(change.values) is not None:
            before = retry_limit(change.old_values)
            return known.retry_policy if before is None else replace(known.retry_policy, retry_limit=before)
    return known.retry_policy


def changed(known: History, record: Changed) -> History:
    """Return a history with a change applied. A hold without a job id holds the next attempt.

    For a new partition, the number of spare nodes is unknown, so it becomes 0, and no request grows.
    """
    limit, held = retry_limit(record.values), record.values.get(HELD)
    policy = known.retry_policy if limit is None else replace(known.retry_policy, retry_limit=limit)
    if "partition" in record.values:
        policy = replace(policy, spare_nodes=0, memory_steps=(), time_steps=())
    return replace(
        known,
        changes=(*known.changes, record),
        retry_policy=policy,
        partition=record.values.get("partition") or known.partition,
        options={name: record.values.get(name, value) for name, value in known.options.items()},
        holds_next=known.holds_next if held is None else held == YES and not record.job_id,
    )


_HELD_WORDS = {YES: "held", NO: "released"}


def change_text(values: Mapping[str, str]) -> str:
    """Describe the values of a change: `time 02:00:00, partition gpu2, held`."""
    named = [f"{name} {values[name]}" for name in (*OPTIONS, RETRIES, MEMORY) if name in values]
    return ", ".join([*named, *([_HELD_WORDS.get(values[HELD], values[HELD])] if HELD in values else [])])
