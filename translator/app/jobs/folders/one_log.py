"""Whether the tasks of an attempt have one file for both streams, where the one of their errors is not there."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ....state.safe_read import CorruptDataError, json_object, read_end
from ....state.tidying.tidy import is_tidied

if TYPE_CHECKING:
    from ....state.job_folder import JobFolder

MAX_PLAN = 64 << 20


def has_one_log(folder: JobFolder, attempt: int) -> bool:
    """Tell whether a missing log of standard error is that of standard output: of a tidied attempt it was empty.

    Of a living one nothing else is read: its tasks make the file of their errors first.
    """
    return not is_tidied(folder.attempt(attempt)) or _planned(folder)


@lru_cache(maxsize=16)
def _planned(folder: JobFolder) -> bool:
    """Tell whether the plan of a job has one log; False where it cannot be read."""
    try:
        data, _ = read_end(folder.path / "plan.json", MAX_PLAN)
        return json_object(data).get("one_log") is True
    except (OSError, CorruptDataError):
        return False
