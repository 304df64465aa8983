"""What was changed of a job, in words and as JSON."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ...plural import counted
from ...state.changes import change_text
from ...times import format_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...state.records import Changed
    from ...state.run_record import RunRecord

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


MAX_VALUE, MAX_LINE = 40, 200
"""Characters of a parameter, and of a line: `status --json` has all of them."""


def run_rows(run: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield names and texts: the parameters, those that were set first, the command, and who called it where."""
    names = [*run.overrides, *(name for name in run.parameters if name not in run.overrides)]
    texts = (f"{name}={_cut(run.parameters.get(name, ''), MAX_VALUE)}" for name in names)
    yield "parameters", _cut(" ".join(texts), MAX_LINE)
    yield "command", _cut(shlex.join(("paislurm", *run.argv)), MAX_LINE) if run.argv else ""
    yield "from", f"{run.submitted_by}:{run.submit_folder}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
