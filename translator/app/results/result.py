"""Find the result of a job: a number in the output of its tasks that matches the job file's regular expression."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from ...state.shared_files import time_written
from .tail import MAX_END, last_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...state.job_folder import JobFolder
    from ...state.records import JobRole
    from ...state.run_record import RunRecord


def result_of(folder: JobFolder, attempt: int, roles: Sequence[JobRole], run: RunRecord | None) -> float | None:
    """Return the last match of the pattern that is a number, in the first role whose first task printed one."""
    if run is None or not run.result_pattern:
        return None
    pattern, owner = re.compile(run.result_pattern), folder.path.stat().st_uid
    for role in roles:
        logs = folder.logs(attempt, role).glob("0.std*.log")
        for log in sorted(logs, key=time_written, reverse=True):
            for line in reversed(last_lines(log, MAX_END, owner)):
                value = _number(pattern, line)
                if value is not None:
                    return value
    return None


def _number(pattern: re.Pattern[str], line: str) -> float | None:
    """Return the number in a line: the first group, or the whole match of a pattern without groups."""
    match = pattern.search(line)
    try:
        value = float(match[1 if pattern.groups else 0]) if match else math.nan
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None
