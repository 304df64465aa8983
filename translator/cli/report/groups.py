"""The jobs that were submitted together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Diagnostic, NotFoundError
from .run_facts import run_facts

if TYPE_CHECKING:
    from ...state.job_folder import JobFolder, Store


def of_group(store: Store, group: str, *, user: str) -> list[JobFolder]:
    """Return the user's jobs of a group, by name; NotFoundError if there are none."""
    own = [folder for folder in store.all() if folder.name.startswith(f"{user}~")]
    found = [folder for folder in own if run_facts(folder).group == group]
    if not found:
        message = f"no job of {user} in {store.jobs} is of a group `{group}`"
        hint = "name the jobs, or a pattern of their names: `paislurm report 'NAME-*'`"
        raise NotFoundError(Diagnostic(code="E597", message=message, hint=hint))
    return found
