"""Fetch files of a job from a login node while a user waits; a shared folder needs no fetching."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.registry import is_remote

from ...errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paislurm.backends.base import RunFolder

    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.records import JobRole
    from ..session import Session

SHORTEST, LONGEST, GROWTH = 1.0, 10.0, 1.4
"""Seconds between two fetches; the pause grows while no new data arrives."""


def run_folder_with_logs(
    folder: JobFolder, known: History, tasks: Sequence[tuple[JobRole, int]], attempt: int | None = None
) -> RunFolder:
    """Return the run folder of a job with the logs of `tasks`; for a whole role, with its folder of logs."""
    run_folder = known.run_folder(folder.path)
    counts = Counter(role for role, _ in tasks)
    whole = {role for role, count in counts.items() if count == role.instances}
    return replace(
        run_folder,
        attempt=run_folder.attempt if attempt is None else attempt,
        names=(*run_folder.names, *(f"logs/{role.folder}" for role in whole)),
        tasks=tuple((f"logs/{role.folder}", index) for role, index in tasks if role not in whole),
    )


def fetch(session: Session, known: History, run_folder: RunFolder) -> None:
    """Fetch new data from the login node. Raises BackendError if it does not answer."""
    if is_remote(known.backend):
        session.backend(known.backend).fetch([run_folder])


class Fetcher:
    """Fetch new data of a job when called, at most once per pause; report an outage once."""

    def __init__(self, session: Session, folder: JobFolder, tasks: Sequence[tuple[JobRole, int]] = ()) -> None:
        self._session, self._folder = session, folder
        self._tasks = tasks
        self._pause, self._next = SHORTEST, 0.0
        self._outage = ""

    def __call__(self, *, now: bool = False) -> None:
        """Fetch new data: at once with `now`, else after the pause."""
        if not now and time.monotonic() < self._next:
            return
        known = self._folder.history()
        if not is_remote(known.backend):
            self._next = float("inf")
            return
        with suppress(OSError):
            self._fetch(known)
        self._next = time.monotonic() + self._pause

    def _fetch(self, known: History) -> None:
        try:
            has_more = self._session.backend(known.backend).fetch(
                [run_folder_with_logs(self._folder, known, self._tasks)]
            )
        except BackendError as error:
            if not self._outage:
                self._outage = error.diagnostics[0].message
                self._session.say(f"still waiting: {self._outage}")
            self._pause = LONGEST
            return
        if self._outage:
            self._outage = ""
            self._session.say(f"{known.backend_label} answers again")
        self._pause = SHORTEST if has_more else min(LONGEST, self._pause * GROWTH)
