"""A job that was submitted, as a program holds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from ..monitor.status import Status
    from ..pipeline import Compiled
    from .client import Client

Stream = Literal["stdout", "stderr", "runtime"]
"""What the commands print, or `runtime`: what prerequisites and plugins print."""


@dataclass(frozen=True, kw_only=True)
class JobRun:
    """One job of a client's, from its submit on, also when a later job takes its name.

    `name` is `user~job`, as its folder was called when it was found, and `created_at` when it was made, in seconds
    since 1970: no two jobs have both. `compiled` is what was made of the job file, None for a job that was found.
    """

    client: Client = field(repr=False)
    name: str
    created_at: int
    compiled: Compiled | None = field(default=None, repr=False, compare=False)

    @property
    def folder(self) -> Path:
        """The job's folder, under whichever name it has by now; NotFoundError for a job that was removed."""
        return self.client.folder_of(self)

    def status(self) -> Status:
        """Return how the job stands now. Slurm is asked if its last answer is older than 15 seconds."""
        [status] = self.client.status(self)
        return status

    def wait(self, timeout: float | None = None) -> Status:
        """Return how the job ended, or how it stands after `timeout` seconds: then `ended` is false.

        Ctrl-C raises InterruptedWaitError, and the job goes on.
        """
        [status] = self.client.wait(self, timeout=timeout)
        return status

    def logs(
        self,
        *tasks: str,
        stream: Stream = "stdout",
        attempt: int | None = None,
        task_attempt: int | None = None,
        tail: int | None = None,
    ) -> dict[str, str]:
        r"""Return what tasks have printed until now, by task: `{"worker-0": "hello\n"}`.

        `tasks` are roles, tasks `ROLE-INDEX` and patterns; without one, all. Without `attempt` (of the job, from 0) and
        `task_attempt` it is the last one; `tail` is how many lines of the end are wanted. A task that has printed
        nothing has "". The text is the job's: escape it before a terminal shows it. Raises NotFoundError.
        """
        return self.client.logs(self, *tasks, stream=stream, attempt=attempt, task_attempt=task_attempt, tail=tail)

    def cancel(self) -> Status:
        """End the job, and return how it stands: it may go on until its tasks have ended. An ended one stays so."""
        [status] = self.client.cancel(self)
        return status
