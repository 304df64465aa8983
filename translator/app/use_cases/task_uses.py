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

        >>> session.tasks.exec(running, "trainer-0", "sh", "-c", "test $PAI_TASK_INDEX = 0")
        0
        """
        import subprocess

        from ..surroundings import own_call

        found = self.call(job, task, command)
        argv = [*own_call(), "exec", self._word(job), found.task, "--", *command]
        return subprocess.run(argv, env=self._session.environment, check=False).returncode

    def call(self, job: AnyJob, task: str = "", command: Sequence[str] = ()) -> TaskCall:
        """Return the command line of `exec`, and run nothing. Raises its errors.

        >>> call = session.tasks.call(running, "trainer", ["nvidia-smi"])
        >>> call.task
        'trainer-0'
        """
        from ..tasks.attaching import call_of_task

        return call_of_task(self._session, self._folder(job), task, command)[0]

    def attach(self, job: AnyJob, task: str = "", command: Sequence[str] = (), *, terminal: bool = False) -> int:
        """Do as `exec`; this may not return, because the program can replace this process.

        With `terminal`, the command gets one. The exit status is 255 if the connection to the task fails.
        """
        from paislurm.backends.base import JobId

        from ..tasks.attaching import call_of_task

        call, backend = call_of_task(self._session, self._folder(job), task, command)
        return backend.attach(list(call.argv), JobId(call.job_id), terminal=terminal)

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

        >>> forward = session.tasks.port_forward(running, port="8888", login="me@login1")
        >>> print(*forward.argv)
        ssh -N ... -L 8888:127.0.0.1:8888 me@login1
        """
        from ...state.parsed import host_or_empty
        from ..jobs.refresh import refresh
        from ..task_facts import web_pages
        from ..tasks.attaching import only_port
        from ..tasks.port_forwarding import (
            PortForward,
            argv_by_node,
            argv_through,
            bracketed,
            login_address,
            port_of,
            running_task,
        )

        view = refresh(self._session, self._folder(job))
        place = running_task(view, task)
        pages = web_pages(view.folder, [place])
        number = port_of(place, port or only_port(view, place, pages), pages)
        local, address = local_port or number, login_address(self._session, view, login)
        node = host_or_empty(place.node or "") or place.host
        return PortForward(
            name=view.folder.name,
            job_id=view.history.job_id,
            task=place.name,
            node=node,
            node_address=place.host,
            port=number,
            local_port=local,
            url=f"http://localhost:{local}",
            login=str(address),
            argv=argv_through(address, f"{local}:{bracketed(place.host)}:{number}"),
            argv_by_node=argv_by_node(address, node, f"{local}:localhost:{number}"),
        )

    def run_forward(self, forward: PortForward) -> None:
        """Forward a port to this machine until Ctrl-C; report when it is ready, and failed connections.

        On a machine that reaches the cluster by SSH, ssh replaces this process. Raises UsageError if the local port is
        not available.
        """
        from paislurm.backends.registry import is_remote

        session = self._session
        if is_remote(self._folder(forward.name).history().backend):
            from paislurm.backends.runner import become, without_token
            from paislurm.backends.ssh.openssh import no_new_keys

            session.say(f"open {forward.url}; press Ctrl-C to stop")
            program, *words = forward.argv
            become([program, *no_new_keys(), *words], without_token(session.environment))
        from ..tasks.port_forwarding import forward as run

        run(forward, lambda: session.say(f"open {forward.url} on this machine; press Ctrl-C to stop"), session.say)

    def roles(self, job: AnyJob | None = None) -> list[tuple[str, int]]:
        """Return the roles of a job, each with its number of tasks. Default: your last job.

        >>> session.tasks.roles(run)
        [('hello', 2)]
        """
        [folder] = self._folders([] if job is None else [job], last=job is None)
        return [(role.name, role.instances) for role in folder.history().roles]

    def port_labels(self, job: AnyJob, task: str) -> list[str]:
        """Return the labels of a task's ports, from the files of a job that has started.

        >>> session.tasks.port_labels(running, "trainer-0")
        ['ssh', 'http']
        """
        from ..jobs.logs.selection import chosen
        from ..task_facts import port_labels

        folder = self._folder(job)
        role, index = chosen(folder.history().roles, (task,))[0]
        return list(port_labels(folder, role.name, index))
