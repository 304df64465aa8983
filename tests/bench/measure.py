"""Compare the times of two things: turns taken, the best of each, and their ratio."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
class Cost:
    """CPU seconds of a process and of what it called, and the most memory that it had, in bytes."""

    cpu: float
    memory: float


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


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of the logarithms of the values over those of the sizes, by least squares."""
    points = [(log(size), log(value)) for size, value in zip(sizes, values, strict=True)]
    x, y = (sum(each) / len(points) for each in zip(*points, strict=True))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def cost(argv: Sequence[str], env: Mapping[str, str]) -> Cost:
    """Let a process of its own call the program, because what children used is only known in sum."""
    text = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    # A child begins with the memory of its parent; that of this process may be large.
    words = [sys.executable, "-S", "-c", text, *argv]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    cpu, kibibytes = done.stdout.split()
    return Cost(float(cpu), float(kibibytes) * 1024)
