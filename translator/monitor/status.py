"""How a job stands, and when and where it ran, as `--json` and the Python API have it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.hostlist import expand

from ..folded_names import folded

if TYPE_CHECKING:
    from .failure import Failure
    from .job_status import State
    from .poll import View
    from .task_status import TaskView


class Status(Struct, frozen=True, kw_only=True):
    """Say how a job stood when it was looked at. Points in time are seconds since 1970, None where they are not known.

    `name` is that of its folder, `user~job`. `exit_code` is OpenPAI's, None while the job has not ended; `reason` says
    why it stands so, `attempt` counts from 0, `retries` are those of the whole job. `job_id` is that of the last
    attempt, None before it has one. `backend_error` says why the backend did not answer, "" where it did: then the rest
    is what was known last. `failure` is why a job FAILED, None for all others.
    """

    name: str
    job: str
    user: str
    state: State
    exit_code: int | None
    reason: str
    ended: bool
    attempt: int
    retries: int
    backend: str
    job_id: str | None
    submitted_at: int | None
    started_at: int | None
    ended_at: int | None
    virtual_cluster: str | None
    partition: str | None
    folder: str
    backend_error: str = ""
    tasks: tuple[TaskView, ...] = ()
    failure: Failure | None = None

    @property
    def succeeded(self) -> bool:
        """Tell whether the job has ended and succeeded."""
        return self.state == "SUCCEEDED"

    def end_dict(self) -> dict[str, object]:
        """Return what `--json` has of the end of a job: all up to the folder."""
        names = self.__struct_fields__
        return {name: getattr(self, name) for name in names[: names.index("folder") + 1]}

    @classmethod
    def of(cls, view: View, failure: Failure | None = None) -> Status:
        """Return how a job stands that was looked at."""
        known = view.history
        return cls(
            name=view.folder.name,
            job=known.job,
            user=known.user,
            state=view.job_status.state,
            exit_code=view.job_status.code,
            reason=view.job_status.reason,
            ended=view.job_status.ended,
            attempt=known.attempt,
            retries=known.counters.total,
            backend=known.backend,
            job_id=known.job_id or None,
            submitted_at=known.submitted,
            started_at=started_at(view),
            ended_at=ended_at(view),
            virtual_cluster=known.virtual_cluster or None,
            partition=known.partition or None,
            folder=str(view.folder.path),
            backend_error=view.backend_error,
            tasks=tuple(view.tasks),
            failure=failure,
        )


def started_at(view: View) -> int | None:
    """Return when the last attempt started, None where it has not, nobody knows, or the next one is due."""
    if view.history.ended is not None:
        return view.history.ended.started_at
    if view.history.retry is not None:
        return None
    return view.observation.started if view.observation else view.result.started_at if view.result else None


def runs_since(view: View) -> int | None:
    """Return when the last attempt started, None as long as its job waits: for a node, or for its tasks to begin."""
    return None if view.job_status.state == "WAITING" else started_at(view)


def ended_at(view: View) -> int | None:
    """Return when the job ended, None where it has not."""
    return view.history.ended.ended_at if view.history.ended else None


def expected_start_at(view: View) -> int | None:
    """Return when the backend expects to start a job that waits; a time that has passed tells nothing."""
    start = view.observation.expected_start if view.observation else None
    return start if start is not None and start >= view.heard and view.job_status.state == "WAITING" else None


def node_list(view: View) -> str:
    """Return the nodes of the last attempt, as Slurm writes them; "" while it has none."""
    end = view.history.ended
    seen = end.node_list if end else folded_nodes(view.observation.nodes) if view.observation else ""
    return seen or folded(task.node for task in view.tasks if task.node)


def folded_nodes(nodes: str) -> str:
    """Return a list of nodes as one: those of the components of a heterogeneous job come as `n5,n6`.

    >>> folded_nodes("n5,n6"), folded_nodes("n[1-3,7]")
    ('n[5-6]', 'n[1-3,7]')
    """
    if "," in nodes:
        with suppress(ValueError):
            return folded(expand(nodes))
    return nodes


def backend_state(view: View) -> str:
    """Return the backend's own word for the state, as it was last heard."""
    if view.observation is not None:
        return view.observation.raw_state
    if view.history.ended is not None:
        return view.history.ended.backend_state
    if view.history.retry is not None:
        return view.history.retry.backend_state
    return view.history.observed.backend_state if view.history.observed else ""
