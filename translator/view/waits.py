"""Why the components of a job wait, as records and as text. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.slurm.pending_reasons import Kind

from ..state.history import NOTHING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_NAMES = 4


class Wait(Struct, frozen=True, kw_only=True):
    """Why components wait."""

    role_names: tuple[str, ...]
    """The roles of these components, none for all."""
    backend_reason: str
    """The backend's reason."""
    kind: Kind
    """The kind of the reason: whether the job's turn comes, or it is stuck."""
    meaning: str
    """What the reason means."""
    advice: str | None
    """The remedy."""


def sentence(found: Sequence[Wait]) -> str:
    """Return one sentence why a job waits."""
    stuck = "it cannot start as it is: " if any(wait.kind == "stuck" for wait in found) else ""
    return stuck + "; ".join(_clause(wait) for wait in found)


def _clause(wait: Wait) -> str:
    more = len(wait.role_names) - _MAX_NAMES
    if wait.backend_reason in NOTHING:
        return wait.meaning
    names = ", ".join(wait.role_names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
    of = f" ({names})" if names else ""
    return f"{wait.backend_reason}{of}" + (f": {wait.meaning}" if wait.meaning else "")


def advice(found: Sequence[Wait]) -> str:
    """Return the remedies, first for reasons that keep the job stuck."""
    first = sorted(found, key=lambda wait: ("stuck", "unknown", "later", "turn").index(wait.kind))
    return "; ".join(dict.fromkeys(wait.advice or "" for wait in first if wait.kind == first[0].kind))
