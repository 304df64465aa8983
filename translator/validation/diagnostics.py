"""Gather the faults of one file, each with the place and the path of its value."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import Fault, Place, Severity, did_you_mean
from ..reading.document import path_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..reading.document import Document, Path


MOST_FAULTS = 200
"""Of errors, and of warnings. Nobody reads more, and hints for thousands of unknown names take minutes."""
_MOST_NAMES = 500


class Collector:
    """Gather faults of a document; the same fault at the same place is kept once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._faults: dict[Fault, None] = {}
        self._counts: Counter[str] = Counter()

    def is_full(self, code: str) -> bool:
        """Tell whether no more faults are kept of the severity that a code has."""
        return self._counts[code[0]] >= MOST_FAULTS

    def add(
        self,
        code: str,
        path: Path,
        message: str,
        *,
        hint: str = "",
        near: tuple[str, Iterable[str]] | None = None,
        key: bool = False,
        place: Place | None = None,
    ) -> None:
        """Add a fault of the value at `path`, or of its key; `place` is used where it is known better.

        Without a hint, `near` makes one: a name that is unknown, and those that are known.
        """
        if self.is_full(code):
            return
        if near and not hint:
            hint = near_hint(*near)
        where = place or self.document.place(path, key=key)
        self.extend([Fault(code=code, message=message, place=where, path=path_text(path), hint=hint)])

    def extend(self, faults: Iterable[Fault]) -> None:
        """Add faults that are complete."""
        for fault in faults:
            if fault not in self._faults:
                self._counts[fault.code[0]] += 1
                self._faults[fault] = None

    def of(self, severity: Severity) -> tuple[Fault, ...]:
        """Return the errors or the warnings in the order of the file."""
        return tuple(sorted((fault for fault in self._faults if fault.severity is severity), key=_position))


def _position(fault: Fault) -> tuple[int, int, str]:
    """Return where a fault sorts: faults of no place or of the whole file first."""
    place = fault.place
    return (place.line, place.column, fault.code) if place else (0, 0, fault.code)


def near_hint(name: str, known: Iterable[str]) -> str:
    """Return the hint for an unknown name: a near one, else all there are if they are few."""
    names = list(islice(known, _MOST_NAMES))
    near = did_you_mean(name, names)
    if near:
        return near
    few = 8
    if names and len(names) <= few:
        return f"there {'is' if len(names) == 1 else 'are'} " + ", ".join(f"`{each}`" for each in names)
    return ""
