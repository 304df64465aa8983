"""The address and the ports of tasks, as the files of nodes have them from the start of each task.

Source: this project's docs, run folder, `peer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .safe_read import MAX_PORT, host_or_empty, parse_int, read_lines
from .task_reports import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MAX_LINE = 1 << 16
"""Bytes; a port takes six."""


class Peer(NamedTuple):
    """Say where a task is reached: the address of its node, its ports by their label; and its slot on the cluster."""

    address: str
    ports: Mapping[str, tuple[int, ...]]
    slot: int
    attempt: int


def read_peers(folder: Path) -> dict[tuple[int, int], Peer]:
    """Return what is known of the last attempt of each task, by the position of its role and its index."""
    found: dict[tuple[int, int], Peer] = {}
    for file in sorted(folder.glob("*.log")):
        apply_peers(found, read_lines(file, MAX_BYTES))
    return found


def apply_peers(found: dict[tuple[int, int], Peer], lines: Iterable[bytes]) -> None:
    """Add what complete lines tell; a line that is none of ours is passed over."""
    for line in lines:
        if not line.startswith(b"peer ") or len(line) > MAX_LINE:
            continue
        _, *words = line.decode("ascii", errors="replace").split(" ")
        match [parse_int(word) for word in words[:3]], words[3:]:
            case [int(role), int(index), int(attempt)], [address, slot, *ports]:
                known, number = found.get((role, index)), parse_int(slot)
                if number is not None and (known is None or known.attempt <= attempt):
                    found[role, index] = Peer(host_or_empty(address), _ports(ports), number, attempt)
            case _:
                pass


def _ports(words: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the ports of words `label:5000,5001`; what is no port is left out."""
    found: dict[str, tuple[int, ...]] = {}
    for word in words:
        label, _, numbers = word.partition(":")
        if label:
            ports = (parse_int(word) for word in numbers.split(","))
            found[label] = tuple(port for port in ports if port is not None and 0 < port <= MAX_PORT)
    return found
