"""The address and ports of a task, as the batch script or the task itself wrote them. Source: docs, run folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...report.peers import parse_peers
from ...state.safe_read import read_end

if TYPE_CHECKING:
    from pathlib import Path

    from ...state.job_folder import JobFolder
    from ...state.records import JobRole

MAX_BYTES = 8 << 20


class Peer(NamedTuple):
    """The address of a task, and its ports by their label."""

    address: str = ""
    ports: tuple[tuple[str, str], ...] = ()


def read_peer(folder: JobFolder, attempt: int, role: JobRole, index: int, node: str) -> Peer:
    """Return what is written of a task that runs on `node`; nothing where nothing is, or cannot be read."""
    task = (role.name, index)
    peers = parse_peers(_text(folder.attempt(attempt) / "peers.sh"), [role.name])
    if task in peers.addresses or not node or "/" in node:
        return Peer(peers.addresses.get(task, ""), peers.ports.get(task, ()))
    position = role.folder.partition("-")[0]
    return _reported(_text(folder.reports(attempt) / f"{node}.log"), position, str(index))


def _text(path: Path) -> str:
    try:
        return read_end(path, MAX_BYTES)[0].decode(errors="replace")
    except OSError:
        return ""


def _reported(text: str, position: str, index: str) -> Peer:
    """Read the reports of a node; of several about the task, the last counts."""
    found = Peer()
    for line in text.splitlines():
        match line.split(" "):
            case ["peer", role, task, _, address, _, *ports] if (role, task) == (position, index):
                pairs = (word.partition(":") for word in ports)
                found = Peer(address, tuple((label, numbers) for label, _, numbers in pairs))
            case _:
                pass
    return found
