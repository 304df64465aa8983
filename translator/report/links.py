"""The job file and the head of its script, line by line, each line with those that it belongs with."""

from __future__ import annotations

from collections import defaultdict
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from ..plural import counted, verb
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
    compiled: Sequence[str] = (),
    origins: Iterable[tuple[int, Sequence[int], str]] = (),
    *,
    note: str = "",
    plan: str = "",
) -> LinkedSource:
    """Return both files with their links.

    `compiled` is the head of the script that the job file gives now; an origin is a line of it, the lines of the job
    file that it comes from, and the rule. A line that the script has otherwise has no links: the job was submitted
    for another site, or with other values.
    """
    same = _same_lines(compiled, script)
    of_script: dict[int, tuple[tuple[int, ...], str]] = {}
    of_job: defaultdict[int, list[int]] = defaultdict(list)
    for line, job_lines, rule in origins:
        number = same.get(line)
        if number is None:
            continue
        there = tuple(line for line in job_lines if line <= min(len(job), MAX_LINES))
        of_script[number] = (there, rule)
        for line in there if number <= MAX_LINES else ():
            of_job[line].append(number)
    notes = [note] if note else []
    there_too = set(same.values())
    # Comments name the file that was submitted, which here has the name that its copy has.
    differ = sum(number not in there_too and not text.startswith("# ") for number, text in enumerate(script, 1))
    if compiled and differ:
        are, have = verb(differ, "is", "are"), verb(differ, "has", "have")
        notes.append(
            f"{counted(differ, 'line')} of the script {are} not what the job file gives now, and {have} no links"
        )
    if max(len(job), len(script)) > MAX_LINES:
        notes.append(f"of each file only the first {MAX_LINES} lines are shown")
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
    """Return for lines of the script as it is compiled now those of the one that was submitted, both from 1."""
    blocks = SequenceMatcher(None, compiled, script, autojunk=False).get_matching_blocks()
    return {a + step + 1: b + step + 1 for a, b, size in blocks for step in range(size)}
