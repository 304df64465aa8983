"""The two forms in which scontrol prints what it knows: settings line by line, and one line for each thing."""

from __future__ import annotations

import re

_SETTING = re.compile(r"^(\S+) += ?(.*)$", re.MULTILINE)
_KEY = re.compile(r"(?:^|\s)([A-Za-z_]\w*)=")
NOTHING = ("", "(null)", "N/A")


def settings(text: str) -> dict[str, str]:
    """Return the settings of `scontrol show config`; of a name that comes again, in a section below, the first."""
    found: dict[str, str] = {}
    for name, value in _SETTING.findall(text):
        found.setdefault(name, "" if value.strip() in NOTHING else value.strip())
    return found


def records(text: str, first: str) -> list[dict[str, str]]:
    """Return the fields of each line of `scontrol --oneliner` that begins with the field `first`.

    A value ends where the next field begins, because some have blanks in them (`OS`, `Reason`). Of a field that comes
    again, which can only be part of such a value, the first counts; so it does of a line that is about the same thing.
    """
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if line.startswith(f"{first}="):
            fields = _fields(line)
            found.setdefault(fields[first], fields)
    return list(found.values())


def _fields(line: str) -> dict[str, str]:
    keys = list(_KEY.finditer(line))
    ends = [key.start() for key in keys[1:]] + [len(line)]
    found: dict[str, str] = {}
    for key, end in zip(keys, ends, strict=True):
        value = line[key.end() : end].strip()
        found.setdefault(key[1], "" if value in NOTHING else value)
    return found


def number(text: str) -> int:
    """Return the whole number that a text begins with, 0 where there is none: `5 sec`, `UNLIMITED`."""
    found = re.match(r"\d{1,15}", text, re.ASCII)
    return int(found[0]) if found else 0
