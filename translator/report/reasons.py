"""Jobs that stand as they do for the same reason, told together. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Reason(NamedTuple):
    """Say why jobs stand as they do, and which: there is one at least."""

    state: str
    text: str
    names: tuple[str, ...]


def by_reason(jobs: Iterable[tuple[str, str, str]]) -> list[Reason]:
    """Return the reasons of jobs, each a name, a state and a reason: that of most jobs first, else in their order."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, state, text in jobs:
        found.setdefault((state, text), []).append(name)
    reasons = [Reason(state, text, tuple(names)) for (state, text), names in found.items()]
    return sorted(reasons, key=lambda reason: -len(reason.names))
