"""Stands in for torch: vectors of numbers, and noise that is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import cuda, distributed

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Tensor", "arange", "cuda", "distributed", "manual_seed", "randn", "zeros"]


class Tensor:
    """Hold numbers, and add and scale them."""

    def __init__(self, numbers: Iterable[float]) -> None:
        self.numbers = list(numbers)

    def __add__(self, other: Tensor) -> Tensor:
        return Tensor(mine + theirs for mine, theirs in zip(self.numbers, other.numbers, strict=True))

    def __sub__(self, other: Tensor) -> Tensor:
        return self + -1 * other

    def __rmul__(self, factor: float) -> Tensor:
        return Tensor(factor * mine for mine in self.numbers)

    def __truediv__(self, divisor: float) -> Tensor:
        return (1 / divisor) * self

    def tolist(self) -> list[float]:
        return self.numbers


def zeros(length: int) -> Tensor:
    return Tensor([0.0] * length)


def randn(length: int) -> Tensor:
    return zeros(length)


def arange(end: float) -> Tensor:
    return Tensor(float(number) for number in range(int(end)))


def manual_seed(seed: int) -> None:
    assert seed >= 0
