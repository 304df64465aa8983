"""How often commands ask Slurm: for a person at once, unless it has just been asked; for who waits, seldom."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING

from paislurm.backends.registry import OF_THIS_SLURM

from ...monitor.asking.answer import Answer, ask_now
from ...monitor.asking.bill import HOUR, retry_times, room_at
from ...monitor.asking.shared_answers import SharedAnswers
from ..session import backend, bill, clock, home_of_caller, monitor_folder, this_process

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from paislurm.backends.base import JobId

    from ...monitor.asking.answer import Ask
    from ...state.history import History
    from .job_sites import JobSites

BY_A_PERSON = 15.0
"""Seconds: so old an answer of Slurm may be that a person is shown."""
SHARED = (*OF_THIS_SLURM, "ssh")
"""Backends of which a user's processes share one answer. The others cost nobody anything: who looks asks."""


def seldom(
    max_age: float, others: Callable[[str], tuple[Collection[JobId], Collection[str]]] = lambda _: ((), ())
) -> Ask:
    """Return what asks a backend unless it has answered in the last `max_age` seconds, for `others` of it as well."""

    def ask(name: str, ids: Collection[JobId], tags: Collection[str]) -> Answer:
        if not _is_shared(name):
            return ask_now(lambda: backend(name), ids, tags, clock())
        return _shared(name, *home_of_caller()).ask(ids, tags, max_age, lambda: others(name))

    return ask


def overheard(name: str) -> Answer | None:
    """Return what a backend has answered to another process of the user, None where this one knows that."""
    return _shared(name, *home_of_caller()).news() if _is_shared(name) else None


def when_room(known: History, sites: JobSites) -> int:
    """Return from when on a job may be given one more attempt, 0 for now: the bill has those of the last hour."""
    if not _is_shared(known.backend):
        return 0
    now = time.time()
    most = sites.most_attempts(known)
    return room_at(retry_times(bill().calls(now - HOUR)), now, most)


@cache
def _shared(name: str, *_home: str) -> SharedAnswers:
    folder = monitor_folder()
    return SharedAnswers(lambda: backend(name), folder if name == "slurm" else folder / name, this_process())


def _is_shared(name: str) -> bool:
    return name.partition(":")[0] in SHARED
