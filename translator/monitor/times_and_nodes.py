"""The times and nodes of a job, from its view."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paislurm.backends.hostlist import expand
from paislurm.backends.slurm.job_states import slurms_word

from ..folded_names import folded

if TYPE_CHECKING:
    from .facts import View


def started_at(view: View) -> int | None:
    """Return when the last attempt started, None if it has not, the time is unknown, or the next one is due."""
    if view.history.ended is not None:
        return view.history.ended.started_at
    if view.history.retry is not None:
        return None
    return view.observation.started if view.observation else view.result.started_at if view.result else None


def ended_at(view: View) -> int | None:
    return view.history.ended.ended_at if view.history.ended else None


def expected_start_at(view: View) -> int | None:
    """Return the expected start of a waiting job, None if it is unknown or has passed."""
    start = view.observation.expected_start if view.observation else None
    return start if start is not None and start >= view.polled_at and view.job_status.state == "WAITING" else None


def node_list(view: View) -> str:
    """Return the nodes of the last attempt in Slurm's notation, "" while it has none."""
    end = view.history.ended
    seen = end.node_list if end else folded_nodes(view.observation.nodes) if view.observation else ""
    return seen or folded(task.node for task in view.tasks if task.node)


def folded_nodes(nodes: str) -> str:
    """Fold a list of nodes: the components of a heterogeneous job give `n5,n6`.

    >>> folded_nodes("n5,n6"), folded_nodes("n[1-3,7]")
    ('n[5-6]', 'n[1-3,7]')
    """
    if "," in nodes:
        with suppress(ValueError):
            return folded(expand(nodes))
    return nodes


def backend_state(view: View) -> str:
    """Return the backend's last known state, "" if it does not know the job."""
    if view.observation is not None:
        return slurms_word(view.observation.raw_state)
    last = view.history.ended or view.history.retry or view.history.observed
    return slurms_word(last.backend_state) if last is not None else ""
