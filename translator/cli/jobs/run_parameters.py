"""The parameters of the job file that a job was submitted with, as far as its journal has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...state.history import History


def parameter(known: History, name: str) -> str | None:
    """Return the value of a parameter; None where the journal names no parameters, or none of that name."""
    parameters = getattr(getattr(known, "run", None), "parameters", None)
    value = parameters.get(name) if isinstance(parameters, Mapping) else None
    return None if value is None else str(value)
