"""Which lines of a file a message may show: none that can hold a secret."""

from __future__ import annotations

import re
from dataclasses import replace as placed
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..errors import Diagnostic

SECRET_KEYS = ("secrets", "auth")
"""Whatever stands below them is never shown. Source: PAI protocol v2, secrets and auth."""
_NAMES_SECRETS = re.compile(r"(?<![\w$.])(?:secrets|auth)\b|^---")
_ALIAS = re.compile(r"(?:^|[\s\[{,:])\*\w")


def shown_of_document(lines: Sequence[str], secrets: Iterable[tuple[int, int]], second: int) -> Sequence[str]:
    """Return the lines of a file that was read, those that can hold secrets empty.

    `secrets` are the first and the last line (from 1) of each value below a secret key. `second` is the line on which
    the second document begins, 0 where there is none. Where secrets have an alias, their text can stand anywhere: then
    no line is returned.
    """
    shown = list(lines[: max(0, second - 2)] if second else lines)
    for first, last in secrets:
        if any(map(_ALIAS.search, lines[first - 1 : last])):
            return ()
        shown[first - 1 : last] = [""] * len(shown[first - 1 : last])
    return shown


def shown_of_text(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of a file that cannot be read, up to the first that names secrets or begins another document."""
    for number, line in enumerate(lines):
        if _NAMES_SECRETS.search(line) and (number or not line.startswith("---")):
            return lines[:number]
    return lines


def with_sources(diagnostics: Iterable[Diagnostic], shown: Sequence[str]) -> list[Diagnostic]:
    """Return diagnostics of a file whose places have their lines."""
    return [_with_source(diagnostic, shown) for diagnostic in diagnostics]


def _with_source(diagnostic: Diagnostic, shown: Sequence[str]) -> Diagnostic:
    where = diagnostic.location
    if where is None or not 0 < where.line <= len(shown):
        return diagnostic
    return replace(diagnostic, location=placed(where, source=shown[where.line - 1]))
