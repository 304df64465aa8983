"""The origins of a script's lines, and the answer to a scenario and the meaning of an exit code, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm import Origin

from ...folded_names import ranges
from ...plural import attempt_name
from ...terminal_text import pairs_text

if TYPE_CHECKING:
    from ...app.exit_meaning import Explanation
    from ...app.what_if.rule_text import ScenarioAnswer, ScenarioAttempt

MAX_WIDTH = 70
"""Characters of a script's line that are shown."""


class ExplainedScript(Struct, frozen=True, kw_only=True):
    """The origins of the lines of a script."""

    lines: tuple[Origin, ...]
    """The lines of the script."""


def origin_row(origin: Origin) -> tuple[str, str, str, str]:
    """Return the row of a line of a script: its number, lines of the job file as `3, 7-9`, its text, and the rule."""
    text = origin.text if len(origin.text) <= MAX_WIDTH else origin.text[: MAX_WIDTH - 3] + "..."
    return str(origin.line), ranges(origin.job_lines).replace(",", ", "), text, origin.rule or ""


def scenario_text(answer: ScenarioAnswer) -> str:
    """Return each attempt with its events, the rule that decides, and what follows."""
    blocks = [_attempt_text(attempt) for attempt in answer.attempts]
    blocks += [f"not reached, because the job has ended: {text}" for text in answer.unreached]
    return "\n".join(blocks)


def _attempt_text(attempt: ScenarioAttempt) -> str:
    code = f" with exit code {attempt.exit_code}" if attempt.exit_code else ""
    job = f"{attempt.state}{code}" if attempt.exit_code is not None else "goes on" if attempt.events else ""
    rows = [
        *(("event", f"{each.event}: {each.meaning}" if each.meaning else each.event) for each in attempt.events),
        ("rule", attempt.rule or ""),
        ("others", attempt.others or ""),
        ("retry", attempt.retry_rule or ""),
        ("job", job if attempt.next_attempt is None else ""),
    ]
    return f"{attempt_name(attempt.attempt)}\n" + "\n".join(f"  {line}" for line in pairs_text(rows).split("\n"))


def exit_text(explanation: Explanation) -> str:
    """Return the meaning of an exit code or a state, a line for each value that is known."""
    row, said, record = explanation.row, explanation.advice, explanation.record
    if row is None or said is None:
        return f"{explanation.state}  {explanation.meaning}"
    listed = row if explanation.is_listed else None
    rows = [
        ("state", f"{explanation.state}: {explanation.meaning}" if explanation.state else ""),
        ("code", str(row.code)),
        ("phrase", row.phrase),
        ("exit status", explanation.as_status),
        ("usually", said.meaning),
        ("look at", said.look),
        ("try", said.remedy),
        ("behaviour", f"{row.behaviour}: {record.retry_rule}" if row.code else record.retry_rule or ""),
        ("node", "left out of the next attempts" if row.exclude_node else ""),
        ("type", listed.type if listed else ""),
        ("reported by", listed.reported_by if listed else ""),
        ("caused by", listed.caused_by if listed else ""),
        ("when", listed.stage if listed else ""),
        ("states", ", ".join(row.states)),
        *(("found by", condition) for condition in record.conditions),
    ]
    return pairs_text(rows)
