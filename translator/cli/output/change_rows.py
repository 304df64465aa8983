"""What was changed of a job, in words and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...plural import counted
from ...state.changes import change_text
from ...times import format_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...state.records import Changed

SHOWN = 5
"""So many changes of a job are shown, the last ones."""


def change_rows(changes: Sequence[Changed]) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the last changes, and how many there were before these."""
    earlier = len(changes) - SHOWN
    if earlier > 0:
        yield "changed", f"{counted(earlier, 'earlier change')}: `paislurm status --json` has all of them"
    for change in changes[-SHOWN:]:
        yield "changed", f"{format_time(change.happened_at)}: {change_text(change)}"


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
