"""The address and the ports of each task of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ...state.safe_read import host_or_empty
from ...state.task_reports import read_peers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...monitor.poll import View


class TaskPlace(Struct, frozen=True, kw_only=True):
    """The address and the ports of a task; `ports` are by label."""

    role: str
    index: int
    node: str
    address: str
    ports: Mapping[str, tuple[int, ...]]
    is_running: bool

    @property
    def name(self) -> str:
        """The name of the task, `worker-0`."""
        return f"{self.role}-{self.index}"

    @property
    def host(self) -> str:
        """The address if known, else the name of the node."""
        return self.address or self.node


def task_places(view: View) -> dict[tuple[str, int], TaskPlace]:
    """Return the places of the last attempt's started tasks, by role and index.

    The source is the result for an ended task, else the files of the nodes.
    """
    known = view.history
    begun = [task for task in view.tasks if task.started_at is not None]
    kept = {(task.role, task.index): task for task in view.result.tasks if task.address} if view.result else {}
    positions = {role.name: position for position, role in enumerate(known.roles)}
    is_kept = all((task.role, task.index) in kept for task in begun)
    peers = {} if is_kept else read_peers(view.folder.reports(known.attempt))
    found: dict[tuple[str, int], TaskPlace] = {}
    for task in begun:
        key = task.role, task.index
        place = kept.get(key) or peers.get((positions.get(task.role, -1), task.index))
        is_running = task.state in ("RUNNING", "STOPPING") and not view.job_status.ended
        address, ports = (place.address, place.ports) if place else ("", {})
        found[key] = TaskPlace(
            role=task.role,
            index=task.index,
            node=host_or_empty(task.node),
            address=address,
            ports=ports,
            is_running=is_running,
        )
    return found
