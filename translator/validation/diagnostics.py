"""Collection of the diagnostics of one file, each with a location and a path."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import MAX_FAULTS, Diagnostic, Location, ProtocolError, Severity, did_you_mean
from ..reading.document import path_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..reading.document import Document, Path


_MAX_NAMES = 500


class DiagnosticCollector:
    """Collect the diagnostics of a document; drop repetitions at the same place."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._faults: dict[Diagnostic, None] = {}
        self._counts: Counter[str] = Counter()

    def is_full(self, code: str) -> bool:
        """Whether the limit for the severity of a code is reached."""
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
        """Add a diagnostic of the value at `path`, or of its key; a more exact `location` takes precedence.

        Without a hint, `near` gives one: the unknown name, and the known names.
        """
        if self.is_full(code):
            return
        if near and not hint:
            hint = near_hint(*near)
        where = location or self.document.place(path, key=key)
        self.extend([Diagnostic(code=code, message=message, location=where, path=path_text(path), hint=hint)])

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add complete diagnostics."""
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
    """Return the sort key of a diagnostic; those without a line come first."""
    location = diagnostic.location
    return (location.line, location.column, diagnostic.code) if location else (0, 0, diagnostic.code)


def near_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name: the nearest name, or all known names if they are few."""
    names = list(islice(known, _MAX_NAMES))
    near = did_you_mean(name, names)
    if near:
        return near
    few = 8
    if names and len(names) <= few:
        return ("use " if len(names) == 1 else "use one of ") + ", ".join(f"`{each}`" for each in names)
    return ""
