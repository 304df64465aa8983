"""How often commands ask Slurm: for a person at once, unless it has just been asked; for who waits, seldom."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from paislurm.backends.registry import OF_THIS_SLURM

from ...monitor.asking.answer import Answer, ask_now
from ...monitor.asking.bill import HOUR, retry_times, room_at
from ...monitor.asking.shared_answers import SharedAnswers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from paislurm.backends.base import JobId

    from ...monitor.asking.answer import Ask
    from ...state.history import History
    from ..session import Session
    from .job_sites import JobSites

BY_A_PERSON = 15.0
"""Seconds: so old an answer of Slurm may be that a person is shown."""
SHARED = (*OF_THIS_SLURM, "ssh")
"""Backends of which a user's processes share one answer. The others cost nobody anything: who looks asks."""


def seldom(
    session: Session,
    max_age: float,
    others: Callable[[str], tuple[Collection[JobId], Collection[str]]] = lambda _: ((), ()),
) -> Ask:
    """Return what asks a backend unless it has answered in the last `max_age` seconds, for `others` of it as well."""

    def ask(name: str, ids: Collection[JobId], tags: Collection[str]) -> Answer:
        if not _is_shared(name):
            return ask_now(lambda: session.backend(name), ids, tags, session.now())
        return _shared(session, name).ask(ids, tags, max_age, lambda: others(name))

    return ask


def overheard(session: Session, name: str) -> Answer | None:
    """Return what a backend has answered to another process of the user, None where this one knows that."""
    return _shared(session, name).news() if _is_shared(name) else None


def when_room(session: Session, known: History, sites: JobSites) -> int:
    """Return from when on a job may be given one more attempt, 0 for now: the bill has those of the last hour."""
    if not _is_shared(known.backend):
        return 0
    now = time.time()
    most = sites.most_attempts(known)
    return room_at(retry_times(session.bill.calls(now - HOUR)), now, most)


def _shared(session: Session, name: str) -> SharedAnswers:
    if name not in session.answers:
        folder = session.monitor_folder
        folder = folder if name == "slurm" else folder / name
        session.answers[name] = SharedAnswers(lambda: session.backend(name), folder, session.process)
    return session.answers[name]


def _is_shared(name: str) -> bool:
    return name.partition(":")[0] in SHARED
