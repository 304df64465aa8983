"""Submit again where an account may have no more jobs in the queue: with growing pauses, for a bounded time."""

from __future__ import annotations

import time
from itertools import chain, repeat
from typing import TYPE_CHECKING, TypeVar

from ...errors import Diagnostic, InterruptedWaitError, RejectedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..session import Session

T = TypeVar("T")
LIMIT_REACHED = "E508"
_PAUSES = (5, 10, 20, 40)
_LONGEST = 60


def with_back_off(session: Session, attempt: Callable[[], T], patience: int, name: str) -> T:
    """Return what an attempt comes to; one that meets a limit of submitted jobs is made again.

    That goes on for `patience` seconds at most. An attempt leaves nothing behind when it fails, so that nothing is
    submitted twice. Other errors pass, and so does the last refusal.
    """
    left = patience
    for pause in chain(_PAUSES, repeat(_LONGEST)):
        try:
            return attempt()
        except RejectedError as error:
            if error.diagnostics[0].code != LIMIT_REACHED or left <= 0:
                raise
            said = error.diagnostics[0].message
        seconds = min(pause, left)
        session.say(
            f"{name} is not submitted yet: {said}; trying again in {seconds} s, {left} s at most; Ctrl-C gives up"
        )
        try:
            time.sleep(seconds)
        except KeyboardInterrupt:
            message = f"interrupted while {name} waited for room in the queue: it was not submitted"
            raise InterruptedWaitError(Diagnostic(code="E532", message=message)) from None
        left -= seconds
    raise AssertionError
