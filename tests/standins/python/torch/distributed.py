"""Stands in for torch.distributed: the ranks meet where torchrun says, and each has what all of them would have."""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import Tensor

ALL: list[socket.socket] = []
"""The connections of rank 0 to the others, or the one of another rank."""


def init_process_group(backend: str) -> None:
    """Return when every rank has reached the first one, at its address and port."""
    assert backend == "gloo"
    place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if get_rank() == 0:
        with socket.create_server(("", place[1])) as server:
            ALL.extend(server.accept()[0] for _ in range(get_world_size() - 1))
        for other in ALL:
            other.sendall(b"all")
    else:
        ALL.append(reached(place))
        assert ALL[0].recv(3, socket.MSG_WAITALL) == b"all"


def reached(place: tuple[str, int]) -> socket.socket:
    with socket.socket() as mine:
        while mine.connect_ex(place) != 0:
            time.sleep(0.05)
        return mine.dup()


def get_rank() -> int:
    return int(os.environ["RANK"])


def get_world_size() -> int:
    return int(os.environ["WORLD_SIZE"])


def all_reduce(tensor: Tensor) -> None:
    """Make of equal numbers of all ranks their sum."""
    tensor.numbers = [number * get_world_size() for number in tensor.numbers]


def destroy_process_group() -> None:
    for other in ALL:
        other.close()
