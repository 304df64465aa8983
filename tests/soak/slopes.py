"""Slopes over time by least squares, with their standard errors, and whether a measure stays flat."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Sample: TypeAlias = "tuple[float, Mapping[str, float]]"
"""A time in hours, and each measure then."""

ERRORS, SHARE = 3.0, 0.02
"""A measure grows if its slope exceeds so many standard errors, and the growth this share of its mean."""


@dataclass(frozen=True)
class Slope:
    """The straight line through the samples of one measure: its mean, and its slope an hour with standard error."""

    what: str
    mean: float
    slope: float
    error: float
    hours: float

    @property
    def grows(self) -> bool:
        """Whether the measure grows by more than chance and by more than a trifle."""
        return self.slope > ERRORS * self.error and self.slope * self.hours > SHARE * self.mean

    def __str__(self) -> str:
        verdict = "GROWS" if self.grows else "flat"
        change = f"slope {self.slope:+10,.2f} ± {self.error:,.2f} an hour"
        return f"{verdict:6}{self.what:<46} mean {self.mean:12,.1f}  {change}"


def slope(what: str, hours: Sequence[float], values: Sequence[float]) -> Slope:
    """Fit a line to samples at these times. It takes three samples at least."""
    count = len(hours)
    x, y = sum(hours) / count, sum(values) / count
    spread = sum((hour - x) ** 2 for hour in hours)
    found = sum((hour - x) * (value - y) for hour, value in zip(hours, values, strict=True)) / spread
    rest = sum((value - y - found * (hour - x)) ** 2 for hour, value in zip(hours, values, strict=True))
    return Slope(what, y, found, sqrt(rest / (count - 2) / spread), hours[-1] - hours[0])


def slopes(samples: Sequence[Sample], warm: float) -> list[Slope]:
    """Return the slope of each measure from the time `warm` on; times are in hours."""
    kept = [(hour, values) for hour, values in samples if hour >= warm]
    hours = [hour for hour, _ in kept]
    return [slope(what, hours, [values[what] for _, values in kept]) for what in kept[0][1]]
