"""Link each line of the head of a script to the lines of the job file from which it is compiled."""

from __future__ import annotations

from collections import defaultdict
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from ..plural import counted, verb
from .model import LinkedSource, SourceLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_LINES = 1500
"""The most lines to show of a file; a note reports the cut."""
RUNTIME = "# ---- paislurm runtime "
"""Start of the seal, the line between the head and the runtime of a script."""


def head_of(script: str) -> list[str]:
    """Return the lines of the head of a script."""
    lines = script.splitlines()
    end = next((number for number, line in enumerate(lines) if line.startswith(RUNTIME)), len(lines))
    return lines[:end]


def linked(
    job: Sequence[str],
    script: Sequence[str],
    compiled: Sequence[str] = (),
    origins: Iterable[tuple[int, Sequence[int], str]] = (),
    *,
    note: str = "",
    plan: str = "",
) -> LinkedSource:
    """Return both files with their links.

    `compiled` is the head of the script that the job file compiles to now. An origin is a line of `compiled`, the
    lines of the job file behind it, and the rule. Lines of the script that differ from `compiled` have no links: the
    job was submitted for another site, or with other values.
    """
    same = _same_lines(compiled, script)
    of_script: dict[int, tuple[tuple[int, ...], str]] = {}
    of_job: defaultdict[int, list[int]] = defaultdict(list)
    for line, job_lines, rule in origins:
        number = same.get(line)
        if number is None:
            continue
        linked_lines = tuple(line for line in job_lines if line <= min(len(job), MAX_LINES))
        of_script[number] = (linked_lines, rule)
        for line in linked_lines if number <= MAX_LINES else ():
            of_job[line].append(number)
    notes = [note] if note else []
    unchanged = set(same.values())
    # Comments contain the name of the submitted file; its copy has another name.
    changed = sum(number not in unchanged and not text.startswith("# ") for number, text in enumerate(script, 1))
    if compiled and changed:
        lines = f"{counted(changed, 'line')} of the script {verb(changed, 'differs', 'differ')}"
        notes.append(f"{lines} from a new compilation of the job file, and {verb(changed, 'has', 'have')} no links")
    if max(len(job), len(script)) > MAX_LINES:
        notes.append(f"only the first {MAX_LINES} lines of each file are shown")
    no_origin: tuple[tuple[int, ...], str] = ((), "")
    return LinkedSource(
        job=tuple(
            SourceLine(number=number, text=text, links=tuple(of_job.get(number, ())))
            for number, text in enumerate(job[:MAX_LINES], 1)
        ),
        script=tuple(
            SourceLine(number=number, text=text, links=links, rule=rule)
            for number, text in enumerate(script[:MAX_LINES], 1)
            for links, rule in [of_script.get(number, no_origin)]
        ),
        note="; ".join(notes),
        plan=plan,
    )


def _same_lines(compiled: Sequence[str], script: Sequence[str]) -> dict[int, int]:
    """Return the equal lines of `script` by those of `compiled`, both as numbers from 1."""
    blocks = SequenceMatcher(None, compiled, script, autojunk=False).get_matching_blocks()
    return {a + step + 1: b + step + 1 for a, b, size in blocks for step in range(size)}
