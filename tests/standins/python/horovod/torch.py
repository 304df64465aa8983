"""Stands in for horovod.torch: who a rank is, by what mpirun says, and the mean of equal numbers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.standins.python.torch import Tensor


def init() -> None:
    assert 0 <= rank() < size()


def rank() -> int:
    return int(os.environ["OMPI_COMM_WORLD_RANK"])


def size() -> int:
    return int(os.environ["OMPI_COMM_WORLD_SIZE"])


def allreduce(tensor: Tensor, name: str) -> Tensor:
    assert name
    return tensor
