"""What helps with a value of the wrong kind: the same in the form that is expected."""

from __future__ import annotations

import re
from math import ceil

from ..times import duration, elapsed_text

_AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([kmgtp])?(?:i?b(?:ytes?)?)?", re.IGNORECASE)
_MIB = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2, "p": 1024**3}
_REST_OF_UNIT = re.compile(r"(?<=[wdhms])(?:eeks?|ays?|(?:ou)?rs?|in(?:ute)?s?|ec(?:ond)?s?)\b|\s", re.ASCII)
"""What `90 minutes` has beside `90m`."""


def hint_at_value(key: str, what: str, value: object) -> str:
    """Return what to write in place of a value of `key`, where `what` is expected; "" where nothing helps."""
    if isinstance(value, str) and "number" in what and value.strip().lstrip("-").isdigit():
        return f"write it without quotes: `{value.strip()}`"
    if isinstance(value, str) and "number" in what and key.endswith("MB") and (hint := _in_mib(value)):
        return hint
    if isinstance(value, (bool, int, float)) and what.startswith("text"):
        return "put it in quotes"
    if value is None:
        return "write a value: a key without one does not count as left out"
    if what == "a list":
        return "write it as a list, each item on a line of its own: `- item`"
    if what == "a mapping":
        return "write it as a mapping, each key on a line of its own: `key: value`"
    if isinstance(value, str) and what == "true or false" and value.lower() in ("yes", "no", "on", "off"):
        return f"write `{'true' if value.lower() in ('yes', 'on') else 'false'}`"
    if isinstance(value, dict) and what == "text":
        return "text that contains `: ` needs quotes around all of it"
    return ""


def hint_at_time(text: str) -> str:
    """Return the hint at a time limit in words, `2h` or `90 minutes`; "" for what is none.

    >>> hint_at_time("1.5"), hint_at_time("90min"), hint_at_time("1 day 2h")
    ('', 'write `01:30:00`', 'write `1-02:00:00`')
    """
    seconds = duration(_REST_OF_UNIT.sub("", text.lower()))
    return "" if seconds is None else f"write `{elapsed_text(seconds)}`"


def _in_mib(text: str) -> str:
    """Return the hint at an amount of memory with a unit, "" for what is none."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or not match[2]:
        return ""
    return f"write `{ceil(float(match[1]) * _MIB[match[2].lower()])}`: the unit is MiB"
