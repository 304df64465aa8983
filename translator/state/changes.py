"""What users changed of a job that waited or ran, as its journal keeps it. Pure.

A change has texts by name: options of sbatch (`OPTIONS`), how often failures are retried (`RETRIES`), and whether an
attempt that waits is held (`HELD`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from .safe_read import parse_int

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .history import History
    from .records import Changed

OPTIONS = ("time", "partition", "account", "qos", "nice")
"""Options of sbatch that can be changed; of `time` the text is as in `slurm_time`."""
RETRIES = "retries"
HELD = "held"
YES, NO = "yes", "no"
MAX_RETRIES = 1_000_000


def changed_options(changes: Iterable[Changed]) -> dict[str, str]:
    """Return the options that attempts to come have in place of the script's, the last word of each."""
    return {name: change.values[name] for change in changes for name in OPTIONS if name in change.values}


def retry_limit(values: Mapping[str, str]) -> int | None:
    """Return how often plain failures are retried by a change, None where it says nothing of it."""
    number = parse_int(values.get(RETRIES, ""))
    return number if number is not None and 0 <= number <= MAX_RETRIES else None


def changed(known: History, record: Changed) -> History:
    """Return a history that has taken in a change. A hold of no job of the backend is one of the attempt to come.

    Of another partition it is not known how many nodes an attempt can leave out and still start.
    """
    limit, held = retry_limit(record.values), record.values.get(HELD)
    policy = known.retry_policy if limit is None else replace(known.retry_policy, retry_limit=limit)
    if "partition" in record.values:
        policy = replace(policy, spare_nodes=0)
    return replace(
        known,
        changes=(*known.changes, record),
        retry_policy=policy,
        partition=record.values.get("partition") or known.partition,
        holds_next=known.holds_next if held is None else held == YES and not record.job_id,
    )


_UNSAID = "as Slurm has it"
_HELD_WORDS = {YES: "held", NO: "released"}


def change_text(change: Changed) -> str:
    """Say a change in words, and what was before."""
    old = change.old_values
    alone = next(iter(old.values())) or _UNSAID if len(old) == 1 == len(change.values) else ""
    before = alone or _values_text(old)
    return _values_text(change.values) + (f" (before: {before})" if before else "")


def _values_text(values: Mapping[str, str]) -> str:
    """Say values in words: `time 02:00:00, partition gpu2, held`."""
    named = [f"{name} {values[name] or _UNSAID}" for name in (*OPTIONS, RETRIES) if name in values]
    return ", ".join([*named, *([_HELD_WORDS.get(values[HELD], values[HELD])] if HELD in values else [])])
