"""Gather the diagnostics of one file, each with the place and the path of its value."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import Diagnostic, Location, ProtocolError, Severity, did_you_mean
from ..reading.document import path_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..reading.document import Document, Path


MAX_FAULTS = 200
"""Of errors, and of warnings. Nobody reads more, and hints for thousands of unknown names take minutes."""
_MAX_NAMES = 500


class DiagnosticCollector:
    """Gather diagnostics of a document; the same diagnostic at the same place is kept once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._faults: dict[Diagnostic, None] = {}
        self._counts: Counter[str] = Counter()

    def is_full(self, code: str) -> bool:
        """Tell whether no more diagnostics are kept of the severity that a code has."""
        return self._counts[code[0]] >= MAX_FAULTS

    def add(
        self,
        code: str,
        path: Path,
        message: str,
        *,
        hint: str = "",
        near: tuple[str, Iterable[str]] | None = None,
        key: bool = False,
        location: Location | None = None,
    ) -> None:
        """Add a diagnostic of the value at `path`, or of its key; `location` is used where it is known better.

        Without a hint, `near` makes one: a name that is unknown, and those that are known.
        """
        if self.is_full(code):
            return
        if near and not hint:
            hint = near_hint(*near)
        where = location or self.document.place(path, key=key)
        self.extend([Diagnostic(code=code, message=message, location=where, path=path_text(path), hint=hint)])

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add diagnostics that are complete."""
        for diagnostic in diagnostics:
            if diagnostic not in self._faults:
                self._counts[diagnostic.code[0]] += 1
                self._faults[diagnostic] = None

    def refuse(self) -> None:
        """Raise `ProtocolError` with all errors, if there are any."""
        if errors := self.of(Severity.ERROR):
            raise ProtocolError(errors, warnings=self.of(Severity.WARNING))

    def of(self, severity: Severity) -> tuple[Diagnostic, ...]:
        """Return the errors or the warnings in the order of the file."""
        return tuple(
            sorted((diagnostic for diagnostic in self._faults if diagnostic.severity is severity), key=_position)
        )


def _position(diagnostic: Diagnostic) -> tuple[int, int, str]:
    """Return where a diagnostic sorts: diagnostics of no place or of the whole file first."""
    location = diagnostic.location
    return (location.line, location.column, diagnostic.code) if location else (0, 0, diagnostic.code)


def near_hint(name: str, known: Iterable[str]) -> str:
    """Return the hint for an unknown name: a near one, else all there are if they are few."""
    names = list(islice(known, _MAX_NAMES))
    near = did_you_mean(name, names)
    if near:
        return near
    few = 8
    if names and len(names) <= few:
        return f"there {'is' if len(names) == 1 else 'are'} " + ", ".join(f"`{each}`" for each in names)
    return ""
