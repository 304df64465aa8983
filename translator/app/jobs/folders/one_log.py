"""Whether the tasks of an attempt have one file for both streams, where the one of their errors is not there."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ....state.kept_plan import kept_plan
from ....state.tidying.tidy import is_tidied

if TYPE_CHECKING:
    from ....state.job_folder import JobFolder


def has_one_log(folder: JobFolder, attempt: int) -> bool:
    """Tell whether a missing log of standard error is that of standard output: of a tidied attempt it was empty.

    Of a living one nothing else is read: its tasks make the file of their errors first.
    """
    return not is_tidied(folder.attempt(attempt)) or _planned(folder)


@lru_cache(maxsize=16)
def _planned(folder: JobFolder) -> bool:
    """Tell whether the plan of a job has one log; False where it cannot be read."""
    return kept_plan(folder.path).one_log
