"""A session: the user, the home, the site profile, the receiver of events and the clock, and all use cases by thing."""

from __future__ import annotations

import os
import pwd
import sys
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..errors import BackendError, Diagnostic, FolderError, UsageError, diagnostic_text
from ..state.ended_jobs import EndedJobs
from ..state.job_folder import Living, Store
from .paths import check_home, check_private, check_usable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from paislurm.backends.base import Backend, JobId, RunFolder
    from paislurm.backends.runner import CallEnd, CommandRunner, LocalRunner

    from ..monitor.polling.call_log import CallLog
    from ..monitor.polling.shared_results import SharedPollResults
    from .use_cases.compiler_uses import CompilerUses
    from .use_cases.job_uses import JobUses
    from .use_cases.log_uses import LogUses
    from .use_cases.site_uses import SiteUses
    from .use_cases.sweep_uses import SweepUses
    from .use_cases.task_uses import TaskUses

SCRONTAB_SECONDS = 5.0
Event: TypeAlias = "str | Diagnostic"
"""A message during a call: a sentence or a warning."""


def user_name() -> str:
    """Return the user's name from the system; `$USER` is not reliable."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


class Session:
    """Compile, submit and watch jobs. A session prints nothing and sets no signal handler.

    `home` is the folder of the job folders, default $PAISLURM_HOME. `site` is a site profile, default $PAISLURM_SITE.
    `say` receives each event (a reason why a job waits, a warning); by default the logger `paislurm` gets it at level
    INFO. `clock` returns seconds since 1970. `environment` replaces that of the process.

    Every error is a PaislurmError with `diagnostics`. A process can have several sessions; use each in one thread at a
    time.
    """

    def __init__(
        self,
        *,
        home: str | os.PathLike[str] | None = None,
        site: str | os.PathLike[str] | None = None,
        say: Callable[[Event], object] | None = None,
        clock: Callable[[], float] = time.time,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.clock = clock
        self.user = user_name()
        self._environment = environment
        self._given: dict[str, str] = {}
        given = {"PAISLURM_HOME": home, "PAISLURM_SITE": site}
        # Absolute, because the current folder may change. Links stay: nodes may know the folder only by the link.
        self._given = {
            name: os.path.abspath(self.expanded(os.fspath(path)))  # noqa: PTH100
            for name, path in given.items()
            if path is not None
        }
        self._backends: dict[str, Backend] = {}
        self.shared_poll_results: dict[str, SharedPollResults] = {}
        """By the name of the backend."""
        self._say = say or _log
        self._said: set[str] = set()
        self.argv: tuple[str, ...] = ()
        """The arguments of the command line, which a submit records; empty without a command line."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._given.items())})"

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

    @property
    def environment(self) -> dict[str, str]:
        """The environment for a child process of this session."""
        found = {**(os.environ if self._environment is None else self._environment), **self._given}
        if paths := found.get("PYTHONPATH"):
            # An empty entry would be the current folder, before any code of ours runs.
            found["PYTHONPATH"] = ":".join(filter(None, paths.split(":")))
        return found

    def setting(self, name: str) -> str | None:
        """Return a setting of the session, else the environment variable of that name, else None."""
        return self._given.get(name) or (os.environ if self._environment is None else self._environment).get(name)

    def expanded(self, path: str) -> str:
        """Return a path with `~` replaced by $HOME, else by the user's home folder; unchanged without either."""
        if path == "~" or path.startswith("~/"):
            path = (self.setting("HOME") or f"~{self.user}") + path[1:]
        # It reads $HOME only for a `~` without a name.
        return os.path.expanduser(path)  # noqa: PTH111

    def which(self, program: str) -> str | None:
        """Return the path of a program on $PATH, None without one."""
        import shutil

        return shutil.which(program, path=self.setting("PATH") or os.defpath)

    def say(self, event: Event) -> None:
        """Send an event to the caller."""
        self._say(event)

    def say_once(self, text: str) -> None:
        """Send an event to the caller once per session."""
        if text not in self._said:
            self._said.add(text)
            self._say(text)

    def warn(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Send warnings to the caller."""
        for each in diagnostics:
            self._say(each)

    def now(self) -> int:
        """Return the time in seconds since 1970."""
        return int(self.clock())

    @property
    def lock_owner(self) -> str:
        """The line that names this process in its locks."""
        return f"{self.user}@{os.uname().nodename} process {os.getpid()}\n"

    @property
    def home(self) -> Path:
        """The folder of the job folders; it may not exist.

        Raises FolderError if others own it or can write to it, and UsageError if the user has no home folder.
        """
        home = self.setting("PAISLURM_HOME") or "~/.paislurm"
        path = Path(self.expanded(home))
        if str(path).startswith("~"):
            diagnostic = Diagnostic(
                code="E540", message="no home folder", hint="set PAISLURM_HOME to a folder that you own"
            )
            raise UsageError(diagnostic)
        # Not resolved: nodes may know the folder only by the link.
        path = Path(os.path.abspath(path))  # noqa: PTH100
        check_home(path)
        return path

    @property
    def store(self) -> Store:
        """The job folders. Raises FolderError if the home is unusable, or if others can write to it."""
        home = self.home
        check_usable(home)
        return Store(home, EndedJobs(lambda: self.monitor_folder))

    @property
    def monitor_folder(self) -> Path:
        """The folder of the monitor's lock, log and call log.

        Raises FolderError as `store` does, or if others can write to the folder.
        """
        folder = self.store.home / "monitor"
        check_private(folder)
        return folder

    @property
    def call_log(self) -> CallLog:
        """The log of this user's calls to Slurm."""
        from ..monitor.polling.call_log import CallLog

        return CallLog(self.monitor_folder)

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


def _log(event: Event) -> None:
    import logging

    logging.getLogger("paislurm").info("%s", event if isinstance(event, str) else diagnostic_text(event))


_CODE = "import sys; sys.path[:] = filter(None, sys.path); from paislurm.translator.cli.start import run; run()"
"""The empty entry is the current folder; `-P` omits it since Python 3.11. Source: Python, sys.path."""


def own_call() -> list[str]:
    """Return the command line of this program, with this Python and its isolation options."""
    return [sys.executable or "python3", *(["-I"] if sys.flags.isolated else []), "-c", _CODE]
