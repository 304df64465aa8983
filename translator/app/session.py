"""A session: whose jobs, in which home, for which site, who is told, and what tells the time."""

from __future__ import annotations

import os
import pwd
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..errors import BackendError, Diagnostic, FolderError, UsageError, diagnostic_text
from ..state.ended_jobs import EndedJobs
from ..state.job_folder import Living, Store
from .ownership import check_home, check_private, check_usable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from paislurm.backends.base import Backend, JobId, RunFolder
    from paislurm.backends.runner import CallEnd, CommandRunner

    from ..monitor.asking.bill import Bill
    from ..monitor.asking.shared_answers import SharedAnswers

SCRONTAB_SECONDS = 5.0
Event: TypeAlias = "str | Diagnostic"
"""What is told while something is done: a sentence, or what may be wrong."""


def user_name() -> str:
    """Return the user's name as the system has it: `$USER` can be anything."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


class Session:
    """Hold what all use cases of one caller share. Several sessions work in one process, each in one thread at a time.

    `home` is the folder of the job folders, `site` a site profile; without them those of the environment are used
    (PAISLURM_HOME, PAISLURM_SITE). `say` is called with each event that is no result (why a job waits, warnings);
    without it the logger `paislurm` has them, at level INFO. `clock` returns seconds since 1970,
    `environment` is that of the process.
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
        given = {"PAISLURM_HOME": home, "PAISLURM_SITE": site}
        # As the current folder is now. Links stay: where home folders are behind a link, all nodes have the link.
        self._given = {
            name: os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111
            for name, path in given.items()
            if path is not None
        }
        self._environment = environment
        self._clock = clock
        self._backends: dict[str, Backend] = {}
        self.answers: dict[str, SharedAnswers] = {}
        self._say = say or _log
        self._said: set[str] = set()
        self.user = user_name()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._given.items())})"

    @property
    def environment(self) -> dict[str, str]:
        """The environment for a process that goes on for this session."""
        return {**(os.environ if self._environment is None else self._environment), **self._given}

    def setting(self, name: str) -> str | None:
        """Return what the session was given in place of a variable of the environment, else the variable, or None."""
        return self._given.get(name) or (os.environ if self._environment is None else self._environment).get(name)

    def say(self, event: Event) -> None:
        """Tell the caller something that is no result."""
        self._say(event)

    def say_once(self, text: str) -> None:
        """Tell the caller something, unless this session has done so."""
        if text not in self._said:
            self._said.add(text)
            self._say(text)

    def warn(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Tell the caller what may be wrong."""
        for each in diagnostics:
            self._say(each)

    def now(self) -> int:
        """Return the time in seconds since 1970."""
        return int(self._clock())

    @property
    def process(self) -> str:
        """Which process this is, for people that look at its locks."""
        return f"{self.user}@{os.uname().nodename} process {os.getpid()}\n"

    @property
    def home(self) -> Path:
        """The folder of the job folders, whether it exists or not; FolderError if others own it or can write to it."""
        home = self.setting("PAISLURM_HOME") or "~/.paislurm"
        try:
            path = Path(home).expanduser()
        except RuntimeError:
            diagnostic = Diagnostic(
                code="E540", message="there is no home folder", hint="set PAISLURM_HOME to a folder of your own"
            )
            raise UsageError(diagnostic) from None
        # Not resolved: where home folders are behind a link, the link is what all nodes have.
        path = Path(os.path.abspath(path))  # noqa: PTH100
        check_home(path)
        return path

    @property
    def store(self) -> Store:
        """The job folders; FolderError if the home cannot be one, or if others can write to it."""
        home = self.home
        check_usable(home)
        return Store(home, EndedJobs(lambda: self.monitor_folder))

    @property
    def monitor_folder(self) -> Path:
        """Where the monitor of this user's jobs keeps its lock and its log."""
        folder = self.store.home / "monitor"
        check_private(folder)
        return folder

    @property
    def bill(self) -> Bill:
        """The log of what is asked of Slurm for this user."""
        from ..monitor.asking.bill import Bill

        return Bill(self.monitor_folder)

    def backend(self, name: str) -> Backend:
        """Return a backend by name."""
        if name not in self._backends:
            self._backends[name] = self._choose(name)
        return self._backends[name]

    def _choose(self, name: str) -> Backend:
        from paislurm.backends.registry import BackendDependencies, backend

        kind = name.partition(":")[0]
        if kind in ("local", "ssh"):
            check_private(self.store.home / kind)
        dependencies = BackendDependencies(
            home=self.store.home,
            components=lambda job_id: self._components(name, job_id),
            charge=self._charge,
            say=self.say,
            run_folders=lambda ids, tags: self._run_folders(name, ids, tags),
            transport=self._transport() if kind == "ssh" else "auto",
        )
        return backend(name, dependencies)

    def slurm_runner(self, backend_name: str = "slurm") -> CommandRunner:
        """Return what runs programs of Slurm, here or at the login node of a backend, and logs their calls."""
        from paislurm.backends.registry import is_elsewhere

        if is_elsewhere(backend_name):
            from paislurm.backends.ssh.backend import SshBackend

            elsewhere = self.backend(backend_name)
            assert isinstance(elsewhere, SshBackend)
            return elsewhere.runner
        from paislurm.backends.runner import BilledRunner, LocalRunner

        return BilledRunner(LocalRunner(), self._charge)

    def scrontab(self) -> list[str]:
        """Return the lines of the user's scrontab; none where Slurm has none, or says nothing."""
        from paislurm.backends.slurm.commands import scrontab as command

        try:
            done = self.slurm_runner().run(command(), timeout=SCRONTAB_SECONDS)
        except BackendError:
            return []
        return [] if done.status else done.stdout.splitlines()

    def _transport(self) -> str:
        """Return how the user wants login nodes to be reached, or how the site locks that."""
        from .input.sites import find_site

        site = find_site(self, None)
        wanted = None if "transport" in site.locked else self.setting("PAISLURM_TRANSPORT")
        return wanted or site.transport

    def _run_folders(self, backend_name: str, ids: Collection[JobId], tags: Collection[str]) -> list[RunFolder]:
        """Return where the living jobs of a backend are that have one of these ids or tags."""
        found: list[RunFolder] = []
        for _, job in self.store.look():
            if isinstance(job, Living):
                with suppress(OSError):
                    known = job.read()
                    if known.backend == backend_name and (known.job_id in ids or known.tag in tags):
                        found.append(known.run_folder(job.folder.path))
        return found

    def _charge(self, argv: Sequence[str], cpu: float, end: CallEnd) -> None:
        """Log a call of a program of Slurm that asks one of its daemons; where that cannot be done, it is not logged.

        What is called before there is a home makes none.
        """
        from ..monitor.asking.bill import RETRIES, Call

        if "--version" not in argv:
            from paislurm.backends.slurm.commands import submits_retry

            program = RETRIES if submits_retry(argv) else argv[0]
            with suppress(OSError, FolderError):
                if self.store.home.is_dir():
                    self.bill.add(Call(time=time.time(), program=program, cpu=cpu, end=end))

    def _components(self, backend_name: str, job_id: JobId) -> int:
        """Return how many components the script of a job has; 1 if it cannot be read."""
        from paislurm.backends.batch_script import components
        from paislurm.backends.files import read_text

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
