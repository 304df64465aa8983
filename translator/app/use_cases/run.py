"""A job of a session, and the functions of the package: use cases of a default session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from ...pipeline import Compiled
    from ...view.jobs import JobView
    from ..jobs.cancelling import CancelledJob
    from ..jobs.logs.selection import Stream
    from ..submit.submission import Submitted


@dataclass(frozen=True, kw_only=True)
class JobRun:
    """One submitted job of a session.

    `name` is the name of its folder, `user~job`, or `user~job@2` for the second job of the name; `created_at` is in
    seconds since 1970. `submitted` is the result of its submission, None for a job from `find`.
    """

    session: Session = field(repr=False)
    name: str
    created_at: int
    submitted: Submitted | None = field(default=None, repr=False, compare=False)

    @property
    def compiled(self) -> Compiled | None:
        """The compiled job file; None for a job from `find`."""
        return self.submitted.compiled if self.submitted else None

    @property
    def folder(self) -> Path:
        """The job's folder. Raises NotFoundError for a removed job."""
        return self.session.jobs.folder_of(self)

    def status(self) -> JobView:
        """Return the state of the job. Slurm is polled if the last poll result is older than 15 seconds.

        >>> run.status().succeeded
        True
        """
        [status] = self.session.jobs.status(self)
        return status

    def wait(self, timeout: float | None = None) -> JobView:
        """Wait for the job and return how it ended. After `timeout` seconds, return its state, with `ended` false.

        Ctrl-C raises InterruptedWaitError, and the job continues.

        >>> running.wait(timeout=0).ended
        False
        """
        [status] = self.session.jobs.wait(self, timeout=timeout)
        return status

    def logs(
        self,
        *tasks: str,
        stream: Stream = "stdout",
        attempt: int | None = None,
        task_attempt: int | None = None,
        tail: int | None = None,
    ) -> dict[str, str]:
        """Return the output of tasks so far, by task, as `session.logs.read` does.

        >>> print(run.logs("hello-0")["hello-0"])
        hello from task 0 at ...
        """
        return self.session.logs.read(
            self, *tasks, stream=stream, attempt=attempt, task_attempt=task_attempt, tail=tail
        )

    def cancel(self) -> CancelledJob:
        """Cancel the job, and return its state. It is still unfinished until its tasks have ended.

        >>> job = session.jobs.submit("hello-world.yaml", suffix="-b")
        >>> job.cancel().state
        'STOPPING'
        """
        [cancelled] = self.session.jobs.cancel(self)
        return cancelled


_session = Session()
load = _session.compiler.load
check = _session.compiler.check
compile = _session.compiler.compile  # noqa: A001 - as `re.compile`
submit = _session.jobs.submit
find = _session.jobs.find
jobs = _session.jobs.list
status = _session.jobs.status
wait = _session.jobs.wait
logs = _session.logs.read
cancel = _session.jobs.cancel
