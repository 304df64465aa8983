"""Read a point in time as users write it: `2d` ago, `2026-11-23`, `2026-11-23 08:00`, `08:00` of today."""

from __future__ import annotations

import re
import time

_AGO = re.compile(r"([0-9]{1,9})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_FORMS = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")
_OF_TODAY = ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")
FORMS = "30m, 12h, 2d or 1w ago, a date as 2026-11-23, with a time as '2026-11-23 08:00', or 08:00 of today"


def moment(text: str, now: float) -> int | None:
    """Return the point in time that a text means in the user's time zone, in seconds since 1970; None if none."""
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return int(now) - int(ago[1]) * _SECONDS[ago[2]]
    today = time.strftime("%Y-%m-%d", time.localtime(now))
    for word, forms in ((text, _FORMS), (f"{today} {text}", _OF_TODAY)):
        for form in forms:
            found = _parsed(word, form)
            if found is not None:
                return found
    return None


def _parsed(word: str, form: str) -> int | None:
    try:
        return int(time.mktime(time.strptime(word, form)))
    except (ValueError, OverflowError):
        return None
