"""Ages as people write them: `30d`, `12h`, `2w`."""

from __future__ import annotations

import re

_AGE = re.compile(r"([1-9]\d{0,5})([smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
AGE_PATTERN = "^[1-9][0-9]{0,5}[smhdw]$"


def age_seconds(text: str) -> int | None:
    """Return an age in seconds, None for what is none: a number with `s`, `m`, `h`, `d` or `w` behind it.

    >>> age_seconds("30d"), age_seconds("30")
    (2592000, None)
    """
    match = _AGE.fullmatch(text)
    return int(match[1]) * _SECONDS[match[2]] if match else None


def age_text(seconds: int) -> str:
    """Return seconds as the largest whole unit that they are.

    >>> age_text(2592000), age_text(90)
    ('30d', '90s')
    """
    unit = next(unit for unit in ("d", "h", "m", "s") if seconds % _SECONDS[unit] == 0)
    return f"{seconds // _SECONDS[unit]}{unit}"
