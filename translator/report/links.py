"""The job file and the head of its script, line by line, each line with those that it belongs with."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from .model import LinkedSource, SourceLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_LINES = 1500
"""Of a file: more is cut off, and the note says so."""
RUNTIME = "# ---- paislurm runtime "
"""How the line begins behind which all scripts are the same."""


def head_of(script: str) -> list[str]:
    """Return the lines of a script that differ from job to job."""
    lines = script.splitlines()
    end = next((number for number, line in enumerate(lines) if line.startswith(RUNTIME)), len(lines))
    return lines[:end]


def linked(
    job: Sequence[str],
    script: Sequence[str],
    origins: Iterable[tuple[int, str, Sequence[int], str]] = (),
    *,
    note: str = "",
    plan: str = "",
) -> LinkedSource:
    """Return both files with their links.

    An origin is a line of a script, its text, the lines of the job file that it comes from, and the rule. One whose
    line the script has otherwise is left out: the job was submitted for another site, or with other values.
    """
    of_script: dict[int, tuple[tuple[int, ...], str]] = {}
    of_job: defaultdict[int, list[int]] = defaultdict(list)
    differ = 0
    for number, text, job_lines, rule in origins:
        if number > len(script) or script[number - 1] != text:
            differ += 1
            continue
        there = tuple(line for line in job_lines if line <= min(len(job), MAX_LINES))
        of_script[number] = (there, rule)
        for line in there:
            of_job[line].append(number)
    notes = [note] if note else []
    if differ:
        notes.append(f"{differ} lines of the script are not what the job file gives now, and have no links")
    if max(len(job), len(script)) > MAX_LINES:
        notes.append(f"of each file only the first {MAX_LINES} lines are shown")
    return LinkedSource(
        job=tuple(
            SourceLine(number=n, text=text, links=tuple(line for line in of_job[n] if line <= MAX_LINES))
            for n, text in enumerate(job[:MAX_LINES], 1)
        ),
        script=tuple(
            SourceLine(number=n, text=text, links=of_script.get(n, ((), ""))[0], rule=of_script.get(n, ((), ""))[1])
            for n, text in enumerate(script[:MAX_LINES], 1)
        ),
        note="; ".join(notes),
        plan=plan,
    )
