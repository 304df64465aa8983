"""The address and the ports of each task of a job that runs or ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ...state.safe_read import host_or_empty
from ...state.task_reports import read_peers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...monitor.poll import View


class TaskPlace(Struct, frozen=True, kw_only=True):
    """Say where a task is or was reached; `ports` by their label."""

    role: str
    index: int
    node: str
    address: str
    ports: Mapping[str, tuple[int, ...]]
    is_running: bool

    @property
    def name(self) -> str:
        """What users call the task: `worker-0`."""
        return f"{self.role}-{self.index}"

    @property
    def host(self) -> str:
        """The address, or where none is known the name of the node."""
        return self.address or self.node


def task_places(view: View) -> dict[tuple[str, int], TaskPlace]:
    """Return the places of the tasks of the last attempt that have begun, by role and index.

    Of a task that has ended the result has them, of others what the nodes wrote.
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


def place_dict(place: TaskPlace | None) -> dict[str, object]:
    """Return the address and the ports for `--json`: of a task that has not begun null and none."""
    ports = {label: list(numbers) for label, numbers in place.ports.items()} if place else {}
    return {"node_address": (place.address if place else "") or None, "ports_by_label": ports}
