"""Which lines of a file a message may show: none that can hold a secret."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..lazy import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..errors import Diagnostic
    from .document import Path, Span

SECRET_KEYS = ("secrets", "auth")
"""Whatever stands below them is never shown. Source: PAI protocol v2, secrets and auth."""
_NAMES_SECRETS = regex(r"(?<![\w$.])(?:secrets|auth)\b|^---")
_ALIAS = regex(r"(?:^|[\s\[{,:])\*\w")


def shown_of_document(lines: Sequence[str], spans: Mapping[Path, Span], second: int) -> Sequence[str]:
    """Return the lines of a file that was read, those that can hold secrets empty.

    `second` is the line (from 1) on which its second document begins, 0 where there is none. Where secrets have an
    alias, their text can stand anywhere: then all lines are empty.
    """
    ranges = [(span.key_line, span.last_line) for path, span in spans.items() if path and path[-1] in SECRET_KEYS]
    hidden = {number for first, last in ranges for number in range(first, last + 1)}
    if any(_ALIAS.search(lines[number - 1]) for number in hidden):
        return ()
    end = second - 2 if second else len(lines)
    return ["" if number in hidden else line for number, line in enumerate(lines[: max(0, end)], start=1)]


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
    return replace(diagnostic, location=replace(where, source=shown[where.line - 1]))
