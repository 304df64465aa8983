"""Bring what a job says at a login node while somebody looks at it; a folder that is shared needs none of this."""

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
"""Seconds between two looks while somebody waits: longer each time that nothing has come."""


def run_folder_with_logs(
    folder: JobFolder, known: History, tasks: Sequence[tuple[JobRole, int]], attempt: int | None = None
) -> RunFolder:
    """Return the run folder of a job with the logs of some tasks; of a whole role it is the folder of its logs."""
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
    """Bring what has come; BackendError if the login node does not answer."""
    if is_remote(known.backend):
        session.backend(known.backend).fetch([run_folder])


class Fetcher:
    """Bring what comes of a job, each time that it is called, but not too often; tell of an outage once."""

    def __init__(self, session: Session, folder: JobFolder, tasks: Sequence[tuple[JobRole, int]] = ()) -> None:
        self._session, self._folder = session, folder
        self._tasks = tasks
        self._pause, self._next = SHORTEST, 0.0
        self._outage = ""

    def __call__(self, *, now: bool = False) -> None:
        """Bring what has come since, `now` or when it is time."""
        if not now and time.monotonic() < self._next:
            return
        known = self._folder.history()
        if not is_remote(known.backend):
            self._next = float("inf")
            return
        with suppress(OSError):
            self._bring(known)
        self._next = time.monotonic() + self._pause

    def _bring(self, known: History) -> None:
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
