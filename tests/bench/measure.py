"""Compare the times of two things: they take turns, and the ratio is the median of those of each turn."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from math import log
from statistics import median
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


def times_of(
    *things: Callable[[], object], turns: int = TURNS, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return how long each takes, in seconds, by turns that they take: see `typical`.

    `time.process_time` as the clock counts what this process alone computes, `cpu_of_children` what its children do.
    """
    times: list[list[float]] = [[] for _ in things]
    for _ in range(turns):
        for thing, taken in zip(things, times, strict=True):
            gc.collect()
            began = clock()
            thing()
            taken.append(clock() - began)
    return typical(times)


def cpu_of_children() -> float:
    """Return the CPU seconds of all processes that this one has waited for, and of those that they have."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def typical(times: Sequence[Sequence[float]]) -> list[float]:
    """Return one time for each thing of those that it took in each turn; the last thing is what others are compared to.

    Of that it is the median. Of another it is as many times as much as it took in the middle one of the turns: noise
    comes and goes, and hits both things of a turn.
    """
    *others, last = times
    common = median(last)
    pairs = ([one / base for one, base in zip(taken, last, strict=True)] for taken in others)
    return [*(median(ratios) * common for ratios in pairs), common]


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
