"""Compare the times of two things: turns taken, the best of each, and their ratio."""

from __future__ import annotations

import gc
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TURNS = 15


@dataclass(frozen=True)
class Ratio:
    """Say how much longer one thing takes than another; times in seconds, or sizes in bytes."""

    what: str
    measured: float
    baseline: float
    limit: float

    @property
    def ratio(self) -> float:
        """Return the measured in terms of the baseline."""
        return self.measured / self.baseline

    @property
    def ok(self) -> bool:
        """Tell whether the limit is kept."""
        return self.ratio <= self.limit

    def __str__(self) -> str:
        verdict = "ok" if self.ok else "OVER"
        absolute = f"{self.measured:.4g} : {self.baseline:.4g}"
        return f"{verdict:5}{self.ratio:8.2f}  at most {self.limit:5.2f}  {self.what}  ({absolute})"


@dataclass(frozen=True)
class Note:
    """Say why there is no ratio."""

    what: str
    ok: bool = True

    def __str__(self) -> str:
        return f"{'none':<32}{self.what}"


def best(
    *things: Callable[[], object], turns: int = TURNS, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the shortest time of each, in seconds; they take turns, so that noise hits all alike.

    `time.process_time` as the clock counts what this process alone computes.
    """
    times: list[list[float]] = [[] for _ in things]
    for _ in range(turns):
        for thing, taken in zip(things, times, strict=True):
            gc.collect()
            began = clock()
            thing()
            taken.append(clock() - began)
    return [min(taken) for taken in times]


def process(argv: Sequence[str]) -> Callable[[], object]:
    """Return what runs a process and throws its output away."""
    return lambda: subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
