"""Use cases about running tasks: commands in them, and their ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .use_cases import UseCases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..tasks.attaching import TaskCall
    from ..tasks.port_forwarding import PortForward
    from .use_cases import AnyJob


class TaskUses(UseCases):
    """Run commands in tasks, and forward their ports."""

    def exec(self, job: AnyJob, task: str = "", *command: str) -> int:
        """Run a command beside a running task (default: a shell), and return its exit status.

        The command uses this process's standard input and output. `task` is `worker-0`, a role of one task, or "" in a
        job of one task. Raises NotFoundError for a task that does not run, UsageError if several tasks match, and
        FolderError for another user's job.
        """
        from ..tasks.attaching import run_in_task

        return run_in_task(self._session, self._folder(job).name, task, command)

    def call(self, job: AnyJob, task: str = "", command: Sequence[str] = ()) -> TaskCall:
        """Return the command line of `exec`, and run nothing. Raises its errors."""
        from ..tasks.attaching import call_of_task

        return call_of_task(self._session, self._folder(job).name, task, command)

    def attach(self, job: AnyJob, task: str = "", command: Sequence[str] = (), *, terminal: bool = False) -> int:
        """Do as `exec`; this may not return, because the program can replace this process.

        With `terminal`, the command gets one. The exit status is 255 if the connection to the task fails.
        """
        from ..tasks.attaching import call_task

        return call_task(self._session, self._folder(job).name, task, command, terminal=terminal)

    def port_forward(
        self,
        job: AnyJob,
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
        from ..tasks.port_forwarding import port_forward

        return port_forward(self._session, self._folder(job).name, task, port, local_port=local_port, login=login)

    def run_forward(self, forward: PortForward) -> None:
        """Forward a port to this machine until Ctrl-C; report when it is ready, and failed connections.

        On a machine that reaches the cluster by SSH, ssh replaces this process. Raises UsageError if the local port is
        not available.
        """
        from ..tasks.port_forwarding import run_forward

        run_forward(self._session, forward)

    def roles(self, job: AnyJob | None = None) -> list[tuple[str, int]]:
        """Return the roles of a job, each with its number of tasks. Default: your last job."""
        [folder] = self._folders([] if job is None else [job], last=job is None)
        return [(role.name, role.instances) for role in folder.history().roles]

    def port_labels(self, job: AnyJob, task: str) -> list[str]:
        """Return the labels of a task's ports, from the files of a job that has started."""
        from ..jobs.logs.selection import chosen
        from ..task_facts import port_labels

        folder = self._folder(job)
        role, index = chosen(folder.history().roles, (task,))[0]
        return list(port_labels(folder, role.name, index))
