"""What a record of the local backend must be, before anything is done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_NUMBER = 1 << 53
TEXTS = ("state", "reason", "host", "boot")
NUMBERS = ("supervisor", "supervisor_started", "batch", "started")
NUMBERS_AT_THE_END = ("status", "signal", "ended")


def is_state(record: Mapping[str, object]) -> bool:
    """Tell whether a record is one of how a job stands: each field there is, and of its kind."""
    numbers = NUMBERS + NUMBERS_AT_THE_END if "ended" in record else NUMBERS
    return all(isinstance(record.get(name), str) for name in TEXTS) and all(
        optional_int(record.get(name)) is not None for name in numbers
    )


def optional_int(value: object) -> int | None:
    """Return a whole number that is no less than 0 and of sensible size; None for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_NUMBER:
        return None
    return value
