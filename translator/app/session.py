"""A session: its surroundings, its backends, and all use cases by thing."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import BackendError, FolderError
from ..state.job_folder import Living
from .paths import check_private
from .surroundings import Event, Surroundings, own_call, user_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from paislurm.backends.base import Backend, JobId, RunFolder
    from paislurm.backends.runner import CallEnd, CommandRunner, LocalRunner

    from .use_cases.compiler_uses import CompilerUses
    from .use_cases.job_uses import JobUses
    from .use_cases.log_uses import LogUses
    from .use_cases.site_uses import SiteUses
    from .use_cases.sweep_uses import SweepUses
    from .use_cases.task_uses import TaskUses

__all__ = ("Event", "Session", "own_call", "user_name")
SCRONTAB_SECONDS = 5.0


class Session(Surroundings):
    """Compile, submit and watch jobs. A session prints nothing and sets no signal handler.

    `home` is the folder of the job folders, default $PAISLURM_HOME. `site` is a site profile, default $PAISLURM_SITE.
    `say` receives each event (a reason why a job waits, a warning); by default the logger `paislurm` gets it at level
    INFO. `clock` returns seconds since 1970. `environment` replaces that of the process.

    Every error is a PaislurmError with `diagnostics`. A process can have several sessions; use each in one thread at a
    time.

    The examples of the calls use this session and its jobs, in a copy of the folder `examples`. `run` has ended,
    `running` runs, and the jobs of `sweep` wait in Slurm's queue. `...` stands for text that differs.

    >>> import paislurm
    >>> session = paislurm.Session(site="site.yaml")
    >>> run = session.jobs.submit("hello-world.yaml", backend="local")
    >>> run.wait().state
    'SUCCEEDED'
    >>> steps = {"steps": 3000, "pause": 0.2, "crash": 0}
    >>> running = session.jobs.submit("checkpoint.yaml", backend="local", suffix="-long", parameters=steps)
    >>> sweep = session.sweeps.submit("sweep.yaml", "lr=0.1,0.01")
    """

    @cached_property
    def compiler(self) -> CompilerUses:
        """Check, compile and compare job files."""
        from .use_cases.compiler_uses import CompilerUses

        return CompilerUses(self)

    @cached_property
    def jobs(self) -> JobUses:
        """Submit, watch, change and cancel jobs."""
        from .use_cases.job_uses import JobUses

        return JobUses(self)

    @cached_property
    def logs(self) -> LogUses:
        """Read and follow the output of tasks."""
        from .use_cases.log_uses import LogUses

        return LogUses(self)

    @cached_property
    def tasks(self) -> TaskUses:
        """Run commands in tasks, and forward their ports."""
        from .use_cases.task_uses import TaskUses

        return TaskUses(self)

    @cached_property
    def sweeps(self) -> SweepUses:
        """Submit sweeps."""
        from .use_cases.sweep_uses import SweepUses

        return SweepUses(self)

    @cached_property
    def sites(self) -> SiteUses:
        """Detect, show and check the site."""
        from .use_cases.site_uses import SiteUses

        return SiteUses(self)

    def at_home(self, home: Path) -> Session:
        """Return a session like this one with another home."""
        given = self._given.get("PAISLURM_SITE")
        return Session(home=home, site=given, say=self._say, clock=self.clock, environment=self._environment)

    def backend(self, name: str) -> Backend:
        """Return a backend, the same object each time.

        Raises UsageError for an unknown name, and FolderError for an unsafe home.
        """
        if name not in self._backends:
            self._backends[name] = self._new_backend(name)
        return self._backends[name]

    def _new_backend(self, name: str) -> Backend:
        from paislurm.backends.registry import BackendDependencies, backend

        kind = name.partition(":")[0]
        if kind in ("local", "ssh"):
            check_private(self.store.home / kind)
        dependencies = BackendDependencies(
            home=self.store.home,
            environment=lambda: self.environment,
            components=lambda job_id: self._components(name, job_id),
            log_call=self._log_call,
            say=self.say,
            run_folders=lambda ids, tags: self._run_folders(name, ids, tags),
            transport=self._transport() if kind == "ssh" else "auto",
        )
        return backend(name, dependencies)

    @property
    def runner(self) -> LocalRunner:
        """A runner of programs on this machine."""
        from paislurm.backends.runner import LocalRunner

        return LocalRunner(lambda: self.environment)

    def slurm_runner(self, backend_name: str = "slurm") -> CommandRunner:
        """Return a runner that runs Slurm's programs here, or at the backend's login node, and logs each call."""
        from paislurm.backends.registry import is_remote

        if is_remote(backend_name):
            from paislurm.backends.ssh.backend import SshBackend

            remote = self.backend(backend_name)
            assert isinstance(remote, SshBackend)
            return remote.runner
        from paislurm.backends.runner import LoggingRunner

        return LoggingRunner(self.runner, self._log_call)

    def scrontab(self) -> list[str]:
        """Return the lines of the user's scrontab; none if it is missing or Slurm does not answer."""
        from paislurm.backends.slurm.commands import scrontab as command

        try:
            done = self.slurm_runner().run(command(), timeout=SCRONTAB_SECONDS)
        except BackendError:
            return []
        return [] if done.status else done.stdout.splitlines()

    def _transport(self) -> str:
        """Return the transport to login nodes: the user's choice unless the site locks it, else the site's."""
        from .sites.find import find_site

        site = find_site(self, None)
        wanted = None if "transport" in site.locked else self.setting("PAISLURM_TRANSPORT")
        return wanted or site.transport

    def _run_folders(self, backend_name: str, ids: Collection[JobId], tags: Collection[str]) -> list[RunFolder]:
        """Return the folders of a backend's unfinished jobs with one of these ids or tags."""
        found: list[RunFolder] = []
        for _, job in self.store.entries():
            if isinstance(job, Living):
                with suppress(OSError):
                    known = job.read()
                    if known.backend == backend_name and (known.job_id in ids or known.tag in tags):
                        found.append(known.run_folder(job.folder.path))
        return found

    def _log_call(self, argv: Sequence[str], cpu: float, end: CallEnd) -> None:
        """Log a call of a program that queries a Slurm daemon, if the home exists. Ignore errors while writing."""
        from ..monitor.polling.call_log import RETRIES, Call

        if "--version" not in argv:
            from paislurm.backends.slurm.commands import submits_retry

            program = RETRIES if submits_retry(argv) else argv[0]
            with suppress(OSError, FolderError):
                if self.store.home.is_dir():
                    self.call_log.add(Call(time=self.clock(), program=program, cpu=cpu, end=end))

    def _components(self, backend_name: str, job_id: JobId) -> int:
        """Return the number of components in a job's script; 1 if it cannot be read."""
        from paislurm.backends.batch_script import components
        from paislurm.translator.files.reading import read_text

        folder = self.store.by_id(job_id, backend=backend_name)
        if folder is None:
            return 1
        try:
            return len(components(read_text(folder.script(0))))
        except OSError:
            return 1
