"""What was changed of a job, in words and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...plural import counted
from ...state.changes import HELD, NO, OPTIONS, RETRIES, YES
from ...times import format_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...state.records import Changed

SHOWN = 5
"""So many changes of a job are shown, the last ones."""
_UNSAID = "as Slurm has it"
_HELD_WORDS = {YES: "held", NO: "released"}


def change_rows(changes: Sequence[Changed]) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the last changes, and how many there were before these."""
    earlier = len(changes) - SHOWN
    if earlier > 0:
        yield "changed", f"{counted(earlier, 'earlier change')}: `paislurm status --json` has all of them"
    for change in changes[-SHOWN:]:
        yield "changed", f"{format_time(change.happened_at)}: {change_text(change)}"


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


def change_dict(change: Changed) -> dict[str, object]:
    """Return a change for `--json`."""
    return {
        "changed_at": change.happened_at,
        "user": change.user,
        "attempt": change.attempt,
        "job_id": change.job_id or None,
        "values": dict(change.values),
        "old_values": {name: value or None for name, value in change.old_values.items()},
    }
