"""Calls about the tasks of a running job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Calls

if TYPE_CHECKING:
    from ..job_run import JobRun
    from ..tasks.port_forward import PortForward


class TaskCalls(Calls):
    """Run commands in tasks, and forward their ports."""

    def exec(self, job: JobRun | str, task: str, *command: str) -> int:
        """Run a command beside a running task (default: a shell), and return its exit status.

        The command uses this process's standard input and output. `task` is `worker-0`, a role of one task, or "" in a
        job of one task. Raises NotFoundError for a task that does not run, UsageError if several tasks match, and
        FolderError for another user's job.
        """
        from ..tasks.attaching import run_in_task

        with self._call():
            return run_in_task(self, self._folder(job).name, task, command)

    def port_forward(
        self,
        job: JobRun | str,
        task: str = "",
        port: str = "",
        *,
        local_port: int | None = None,
        login: str | None = None,
    ) -> PortForward:
        """Return the ssh command that connects the user's own machine to a port of a running task.

        `port` is a label or a number; "" means the only port. `task` is as for `exec`. `login` is the name of the login
        node on the user's machine. Raises NotFoundError for a task that does not run or an unknown port, and UsageError
        if several match.
        """
        from ..tasks.port_forward import port_forward

        with self._call():
            return port_forward(self, self._folder(job).name, task, port, local_port=local_port, login=login)
