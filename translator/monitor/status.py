"""How a job stands, as a record: what `--json` has of it, and what the Python API returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from .last_attempt import ended_at, started_at

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
