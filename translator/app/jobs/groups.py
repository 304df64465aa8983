"""Groups of jobs: those that one `submit --sweep` has made, or several of the same name and parameters."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ...folded_names import by_numbers
from ...state.job_folder import JobFolder, Living

if TYPE_CHECKING:
    from ...state.job_folder import Store


def jobs_of_group(store: Store, group: str, *, user: str) -> list[JobFolder]:
    """Return the user's jobs of a group by name, `seed2` before `seed10`, without those whose names were used again."""
    found: list[JobFolder] = []
    for name, job in store.look():
        if group and name.startswith(f"{user}~"):
            with suppress(OSError):
                known = job.read() if isinstance(job, Living) else job
                if known.group == group and known.full_name == name:
                    found.append(JobFolder(path=store.jobs / name))
    return sorted(found, key=lambda folder: by_numbers(folder.name))


def groups(store: Store, *, user: str) -> list[str]:
    """Return the names of the user's groups, sorted."""
    found: set[str] = set()
    for name, job in store.look():
        if name.startswith(f"{user}~"):
            with suppress(OSError):
                found.add((job.read() if isinstance(job, Living) else job).group)
    return sorted(found - {""}, key=by_numbers)
