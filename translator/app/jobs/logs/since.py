"""Read a point in time as people say it: so long ago, or when."""

from __future__ import annotations

import re

_SPAN = re.compile(r"(?:[0-9]{1,9}[smhdw])+")
_PART = re.compile(r"([0-9]{1,9})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def since(text: str, now: float) -> float:
    """Return the point in time, in seconds since 1970, that `10m`, `1h30m`, `14:00` or `2026-11-23T14:00` means.

    A time without a zone is one of here, and without a day the last such time. Raises `ValueError` for anything else.
    """
    if _SPAN.fullmatch(text):
        return now - sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    from datetime import datetime, time, timedelta

    here = datetime.fromtimestamp(now).astimezone()
    try:
        at = time.fromisoformat(text)
    except ValueError:
        # Python 3.10 does not know the Z of UTC.
        when = datetime.fromisoformat(f"{text[:-1]}+00:00" if text.endswith("Z") else text)
        try:
            return when.timestamp()
        except OverflowError as error:
            raise ValueError(str(error)) from None
    when = datetime.combine(here.date(), at)
    return (when if when.timestamp() <= now else when - timedelta(days=1)).timestamp()
