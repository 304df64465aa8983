"""What the jobs of a sweep are called: the job's own name, and an ending that says which point it is. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST = 60
"""Characters of an ending; a longer one is cut, and told from others by a digest."""
_DIGEST = 8


def endings(points: Sequence[Mapping[str, str]]) -> list[str]:
    """Return what is put behind a job's name for each point: `-lr0_1-seed3`, of which no two are the same.

    All is made of what names of OpenPAI's jobs may have. Where points would be called alike, or by too long a name, a
    digest of the values is in it: the same point has the same name when it is submitted again.
    """
    short = [_ending(point) for point in points]
    count = Counter(each.lower() for each in short)
    return [
        each if count[each.lower()] == 1 and len(each) <= LONGEST else _with_digest(each, point)
        for each, point in zip(short, points, strict=True)
    ]


def _ending(point: Mapping[str, str]) -> str:
    return "".join(f"-{_allowed(name)}{_allowed(value)}" for name, value in point.items())


def _allowed(text: str) -> str:
    """Return a text with `_` for each character that a name cannot have; quotes around a value are no part of it."""
    bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
    return re.sub(r"[^A-Za-z0-9_-]", "_", bare)


def _with_digest(ending: str, point: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(point, sort_keys=True).encode(errors="surrogatepass")).hexdigest()[:_DIGEST]
    return f"{ending[: LONGEST - _DIGEST - 1]}-{digest}"
