"""Calls about the tasks of a job that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Calls

if TYPE_CHECKING:
    from ..job_run import JobRun
    from ..tasks.port_forward import PortForward
    from ..usage.usage import Measured


class TaskCalls(Calls):
    """Run commands in tasks, and reach their ports."""

    def exec(self, job: JobRun | str, task: str, *command: str) -> int:
        """Run a command beside a task that runs, a shell without one, and return its exit status.

        Standard input and output are those of this process. `task` is `worker-0`, a role of one task, or "" in a job of
        one task. Raises NotFoundError for a task that does not run, UsageError where several are meant, and FolderError
        for another user's job.
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
        """Return the ssh command by which a machine of the user's reaches a port of a task that runs.

        `port` is a label or a number; "" means the only one, as for `task`. `login` is the login node as that machine
        knows it. Raises NotFoundError for a task that does not run or a port that it does not have, and UsageError
        where several are meant.
        """
        from ..tasks.port_forward import port_forward

        with self._call():
            return port_forward(self, self._folder(job).name, task, port, local_port=local_port, login=login)

    def top(self, job: JobRun | str, task: str | None = None) -> Measured:
        """Return what the running tasks of a job use: CPU, memory, GPUs.

        One sstat tells the average of the tasks of a role. Where Slurm gathers nothing, and with a `task` or a role, an
        srun looks at the processes of each task for a second. Raises NotFoundError if none of them runs.
        """
        from ..jobs.refresh import refresh
        from ..usage.measure import measure

        with self._call():
            return measure(self, refresh(self, self._folder(job)), task)[0]
