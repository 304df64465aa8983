"""The ledger of a user's bad nodes: JSON lines, added by the monitor and by `paislurm nodes`."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, to_builtins

from ..files.private import write_durably
from ..files.reading import read_lines
from .journal import append_line, locked
from .parsed import CorruptDataError, Int, read_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

FILE = "nodes.jsonl"
VERSION = 1
MAX_BYTES = 4 << 20
"""The most bytes of the ledger that are read, from its end."""
LONG_BYTES, MAX_NODES = 1 << 20, 1000
"""When a ledger is longer than these bytes, only the last line about each of so many nodes, the latest, is kept."""
MAX_REASON = 500
NODE_NAME = r"[A-Za-z0-9_.][A-Za-z0-9_.-]{0,254}"
NodeName = Annotated[str, Meta(pattern=rf"^{NODE_NAME}\Z")]


class BadNode(Struct, frozen=True, kw_only=True):
    """A line of the ledger: a node was bad, or its user has removed it. `cluster` tells nodes of one name apart."""

    happened_at: Int
    cluster: str
    node: NodeName
    reason: str = ""
    job: str = ""
    """The job that met it, `user~name`; empty if its user has added it."""
    attempt: Int = 0
    is_removed: bool = False


def add(home: Path, nodes: Sequence[BadNode]) -> None:
    """Add nodes to the ledger, and shorten a long one. Raises OSError."""
    ledger = home / FILE
    for each in nodes:
        append_line(ledger, _line(each))
    if nodes and ledger.stat().st_size > LONG_BYTES:
        with locked(ledger) as descriptor:
            # To open and close the file again would release the lock. Source: fcntl(2), F_SETLK.
            lines = os.pread(descriptor, os.fstat(descriptor).st_size, 0).split(b"\n")
            write_durably(ledger, b"".join(map(_line, _last(lines)[:MAX_NODES])))


def _line(node: BadNode) -> bytes:
    return json.dumps({"version": VERSION, **to_builtins(node)}).encode() + b"\n"


def bad_nodes(home: Path, cluster: str | None = None) -> tuple[BadNode, ...]:
    """Return the last line about each node, the latest first, without those that were removed.

    A monitor that is interrupted may add the same line twice. Invalid lines are ignored.
    """
    return tuple(each for each in _last(read_lines(home / FILE, MAX_BYTES)) if cluster in (None, each.cluster))


def _last(lines: Iterable[bytes]) -> list[BadNode]:
    last: dict[tuple[str, str], BadNode] = {}
    for line in lines:
        try:
            found = read_version(line, BadNode, VERSION)
        except CorruptDataError:
            continue
        last[found.cluster, found.node] = found
    return sorted((each for each in last.values() if not each.is_removed), key=lambda each: -each.happened_at)
