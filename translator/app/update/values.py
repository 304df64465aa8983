"""What `paislurm update` is told to change, as texts by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import UsageError
from ...protocol.overrides import value_fault
from ...state.changes import HELD, NO, RETRIES, YES

if TYPE_CHECKING:
    from collections.abc import Mapping


def values_of(
    options: Mapping[str, str | None], *, nice: int | None, held: bool | None, retries: int | None
) -> dict[str, str]:
    """Return the values to be changed; UsageError with all that cannot be meant. A time has the form that a script has.

    `options` are those that `submit` has, too, None for what is not given.
    """
    from ...protocol.extras_slurm import time_limit
    from ...times import slurm_time

    given = {name: value for name, value in options.items() if value is not None}
    faults = [fault for name, value in given.items() if (fault := value_fault(name, value))]
    if faults:
        raise UsageError(faults)
    if "time" in given:
        given["time"] = slurm_time(time_limit(given["time"]))
    others = {"nice": nice, RETRIES: retries, HELD: None if held is None else YES if held else NO}
    return given | {name: str(value) for name, value in others.items() if value is not None}
