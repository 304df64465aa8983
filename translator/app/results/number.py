"""The result of a job: the last number in its logs that matches the regular expression of the job file."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from paislurm.backends.bounded_run import run_bounded

from ...files.shared_files import time_written
from .reading import MAX_END, last_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...state.job_folder import JobFolder
    from ...state.records import JobRole
    from ...state.run_record import RunRecord

SECONDS = 2.0
"""How long the expressions may take: one such as `(a+)+$` would search for ever."""
_SEARCH = """
import json, math, re, sys
for row in sys.stdin:
    number = None
    text, lines = json.loads(row)
    try:
        pattern = re.compile(text)
    except re.error:
        lines = []
    for line in lines:
        match = pattern.search(line)
        try:
            found = float(match[1 if pattern.groups else 0]) if match else math.nan
        except (TypeError, ValueError):
            continue
        if math.isfinite(found):
            number = found
            break
    print(json.dumps(number), flush=True)
"""
Question = tuple[str, tuple[str, ...]]
"""A regular expression, and the lines to search, the last first."""


def result_of(folder: JobFolder, attempt: int, roles: Sequence[JobRole], run: RunRecord | None) -> float | None:
    """Return the last match that is a number, in the first role whose first task printed one."""
    return numbers([question(folder, attempt, roles, run)])[0]


def question(folder: JobFolder, attempt: int, roles: Sequence[JobRole], run: RunRecord | None) -> Question | None:
    """Return what to search for the result of an attempt, None if the job file names no result."""
    if run is None or not run.result_pattern:
        return None
    owner = folder.path.stat().st_uid
    logs = (sorted(folder.logs(attempt, role).glob("0.std*.log"), key=time_written, reverse=True) for role in roles)
    return run.result_pattern, tuple(
        line for of_role in logs for log in of_role for line in reversed(last_lines(log, MAX_END, owner))
    )


def numbers(questions: Sequence[Question | None]) -> list[float | None]:
    """Search all in one child process, whose time is limited; None for no number, or an expression that takes long."""
    asked = [position for position, each in enumerate(questions) if each and each[1]]
    found: list[float | None] = [None] * len(questions)
    while asked:
        rows = "".join(f"{json.dumps(questions[position])}\n" for position in asked)
        try:
            done = run_bounded([sys.executable, "-I", "-S", "-c", _SEARCH], rows.encode(), timeout=SECONDS)
        except OSError:
            # The user may have no process left (ulimit -u): the jobs are shown all the same.
            break
        answers = done.stdout.splitlines()
        for position, answer in zip(asked, answers, strict=False):
            found[position] = json.loads(answer)
        # The first without an answer took too long.
        asked = asked[len(answers) + 1 :]
    return found
