"""What the texts of one role may refer to, and how they are put together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .assemble import Assembled, assemble

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .collect import Collector
    from .document import Document, Path, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Hold the roots of a role's references; `keep` leaves references to nothing as they are."""

    collector: Collector
    roots: Mapping[str, Value]
    keep: bool

    @property
    def document(self) -> Document:
        """Return the job file."""
        return self.collector.document

    def of(self, parameters: Mapping[str, Value]) -> Context:
        """Return the context of a prerequisite's own texts, in which `this.parameters` are these."""
        return replace(self, roots={**self.roots, "this": {"parameters": parameters}})

    def commands(self, items: Sequence[tuple[Path, str]]) -> Assembled:
        """Return the commands as one text."""
        return assemble(items, self.roots, self.collector, keep=self.keep)

    def resolved(self, path: Path, value: Value) -> Value:
        """Return a value with every reference in it resolved, however deep."""
        if isinstance(value, str):
            return self.commands([(path, value)]).text
        if isinstance(value, dict):
            return {key: self.resolved((*path, key), inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.resolved((*path, number), inner) for number, inner in enumerate(value)]
        return value
