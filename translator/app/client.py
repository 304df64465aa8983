"""A client, job folders in one home for one site, and the functions of the package: calls of a default client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .calls.compiler import CompilerCalls
from .calls.job import JobCalls, TaskCalls
from .calls.site import SiteCalls
from .calls.submit import SubmitCalls

if TYPE_CHECKING:
    from pathlib import Path

    from ..pipeline import Compiled
    from ..view.job import JobView
    from .jobs.logs.selection import Stream


@dataclass(frozen=True, kw_only=True)
class JobRun:
    """One submitted job of a client.

    `name` is the name of its folder, `user~job`, or `user~job@2` for the second job of the name; `created_at` is in
    seconds since 1970. `compiled` is the compiled job file, None for a job from `find`.
    """

    client: Client = field(repr=False)
    name: str
    created_at: int
    compiled: Compiled | None = field(default=None, repr=False, compare=False)

    @property
    def folder(self) -> Path:
        """The job's folder. Raises NotFoundError for a removed job."""
        return self.client.folder_of(self)

    def status(self) -> JobView:
        """Return the state of the job. Slurm is polled if the last poll result is older than 15 seconds."""
        [status] = self.client.status(self)
        return status

    def wait(self, timeout: float | None = None) -> JobView:
        """Wait for the job and return how it ended. After `timeout` seconds, return its state, with `ended` false.

        Ctrl-C raises InterruptedWaitError, and the job continues.
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
        r"""Return the output of tasks so far, by task: `{"worker-0": "hello\n"}`.

        `tasks` are roles, tasks `ROLE-INDEX` and patterns; default: all. Default for `attempt` (of the job, from 0) and
        `task_attempt`: the last one. `tail` limits the output to the last lines. A task without output has "". The text
        is untrusted: escape it before printing it on a terminal. Raises NotFoundError.
        """
        return self.client.logs(self, *tasks, stream=stream, attempt=attempt, task_attempt=task_attempt, tail=tail)

    def cancel(self) -> JobView:
        """Cancel the job, and return its state. It is still unfinished until its tasks have ended."""
        [status] = self.client.cancel(self)
        return status


class Client(CompilerCalls, SubmitCalls, JobCalls, TaskCalls, SiteCalls):
    """Compile, submit and watch jobs. A client prints nothing and sets no signal handler.

    The arguments are those of `Session`.

    Every error is a PaislurmError with `diagnostics`. Use a client in one thread at a time.
    """


_client = Client()
load = _client.load
check = _client.check
compile = _client.compile  # noqa: A001 - as `re.compile`
submit = _client.submit
find = _client.find
jobs = _client.jobs
status = _client.status
wait = _client.wait
logs = _client.logs
cancel = _client.cancel
