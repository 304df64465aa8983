"""The surroundings of a session: the user, the home, the environment, the receiver of events and the clock."""

from __future__ import annotations

import os
import pwd
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..errors import Diagnostic, UsageError, diagnostic_text
from ..state.ended_jobs import EndedJobs
from ..state.job_folder import Store
from .paths import check_home, check_private, check_usable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from paislurm.backends.base import Backend

    from ..monitor.polling.call_log import CallLog
    from ..monitor.polling.shared_results import SharedPollResults

Event: TypeAlias = "str | Diagnostic"
"""A message during a call: a sentence or a warning."""


def user_name() -> str:
    """Return the user's name from the system; `$USER` is not reliable."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


class Surroundings:
    """The user, the home, the environment, the receiver of events and the clock; the arguments are those of Session."""

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


def _log(event: Event) -> None:
    import logging

    logging.getLogger("paislurm").info("%s", event if isinstance(event, str) else diagnostic_text(event))


_CODE = "import sys; sys.path[:] = filter(None, sys.path); from paislurm.translator.cli.start import run; run()"
"""The empty entry is the current folder; `-P` omits it since Python 3.11. Source: Python, sys.path."""


def own_call() -> list[str]:
    """Return the command line of this program, with this Python and its isolation options."""
    return [sys.executable or "python3", *(["-I"] if sys.flags.isolated else []), "-c", _CODE]
