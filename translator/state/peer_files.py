"""What a task of a job can know of another: its address and ports, as the batch script or the task wrote them.

Source: this project's docs, run folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .safe_read import read_end

if TYPE_CHECKING:
    from pathlib import Path

    from .job_folder import JobFolder
    from .records import JobRole

MAX_BYTES = 8 << 20


class Peer(NamedTuple):
    """The address of a task, and its ports by their label."""

    address: str = ""
    ports: tuple[tuple[str, str], ...] = ()


def read_peer(folder: JobFolder, attempt: int, role: JobRole, index: int, node: str) -> Peer:
    """Return what is written of a task; nothing where nothing is, or cannot be read."""
    found = _of_gang(_text(folder.attempt(attempt) / "peers.sh"), f"{role.name}_{index}")
    if found.address or not node or "/" in node:
        return found
    position = role.folder.partition("-")[0]
    return _of_single(_text(folder.reports(attempt) / f"{node}.log"), position, str(index))


def _text(path: Path) -> str:
    try:
        return read_end(path, MAX_BYTES)[0].decode(errors="replace")
    except OSError:
        return ""


def _of_gang(text: str, task: str) -> Peer:
    """Read variables about all tasks, a line `NAME=VALUE` each."""
    address, ports = "", []
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name == f"PAI_HOST_IP_{task}":
            address = value.strip("'")
        elif name.startswith(f"PAI_PORT_LIST_{task}_"):
            ports.append((name.removeprefix(f"PAI_PORT_LIST_{task}_"), value.strip("'")))
    return Peer(address, tuple(ports))


def _of_single(text: str, position: str, index: str) -> Peer:
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
