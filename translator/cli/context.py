"""Who the user is, where the user's job folders are, and which backend is meant."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BackendError, Diagnostic, FolderError, UsageError
from ..state.ended_jobs import EndedJobs
from ..state.job_folder import Living, Store
from .caller import caller, setting
from .ownership import check_home, check_private, check_usable
from .ownership import user_name as user_name  # noqa: PLC0414 - who asks for the home asks for the user

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from paislurm.backends.base import Backend, JobId, RunFolder
    from paislurm.backends.billed_runner import CallEnd
    from paislurm.backends.runner import CommandRunner

    from ..monitor.asking.bill import Bill


SCRONTAB_SECONDS = 5.0


def store() -> Store:
    """Return the job folders of `$PAISLURM_HOME`; FolderError if it cannot be one, or if others can write to it."""
    home = home_folder()
    check_usable(home)
    return Store(home, EndedJobs(monitor_folder))


def home_folder() -> Path:
    """Return `$PAISLURM_HOME`, whether it exists or not; FolderError if others own it or can write to it."""
    home = setting("PAISLURM_HOME") or "~/.paislurm"
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


def monitor_folder() -> Path:
    """Return where the monitor of this user's jobs keeps its lock and its log."""
    folder = store().home / "monitor"
    check_private(folder)
    return folder


def this_process() -> str:
    """Say in words which process this is, for people that look at its locks."""
    return f"{user_name()}@{os.uname().nodename} process {os.getpid()}\n"


def backend(name: str) -> Backend:
    """Return a backend by name."""
    return _choose(name, *home_of_caller())


def home_of_caller() -> tuple[str, ...]:
    """Return by what else is kept apart what a process keeps: clients of the Python API have homes of their own."""
    return (str(store().home),) if caller() else ()


@cache
def _choose(name: str, *_home: str) -> Backend:
    from paislurm.backends.registry import BackendDependencies
    from paislurm.backends.registry import backend as choose

    kind = name.partition(":")[0]
    if kind in ("local", "ssh"):
        check_private(store().home / kind)
    dependencies = BackendDependencies(
        home=store().home,
        components=lambda job_id: _components(name, job_id),
        charge=_charge,
        say=_say,
        run_folders=lambda ids, tags: _run_folders(name, ids, tags),
        transport=_transport() if kind == "ssh" else "auto",
    )
    return choose(name, dependencies)


def _transport() -> str:
    """Return how the user wants login nodes to be reached, or how the site locks that."""
    from .input.sites import find_site

    site = find_site(None)
    wanted = "" if "transport" in site.locked else os.environ.get("PAISLURM_TRANSPORT", "")
    return wanted or site.transport


def _run_folders(backend_name: str, ids: Collection[JobId], tags: Collection[str]) -> list[RunFolder]:
    """Return where the living jobs of a backend are that have one of these ids or tags."""
    found: list[RunFolder] = []
    for _, job in store().look():
        if isinstance(job, Living):
            with suppress(OSError):
                known = job.read()
                if known.backend == backend_name and (known.job_id in ids or known.tag in tags):
                    found.append(known.run_folder(job.folder.path))
    return found


def slurm_runner(backend_name: str = "slurm") -> CommandRunner:
    """Return what runs programs of Slurm, here or at the login node of a backend, and puts them on the bill."""
    from paislurm.backends.registry import is_elsewhere

    if is_elsewhere(backend_name):
        from paislurm.backends.ssh.backend import SshBackend

        elsewhere = backend(backend_name)
        assert isinstance(elsewhere, SshBackend)
        return elsewhere.runner
    from paislurm.backends.billed_runner import BilledRunner
    from paislurm.backends.runner import LocalRunner

    return BilledRunner(LocalRunner(), _charge)


def scrontab() -> list[str]:
    """Return the lines of the user's scrontab; none where Slurm has none, or says nothing."""
    from paislurm.backends.slurm.commands import scrontab as command

    try:
        done = slurm_runner().run(command(), timeout=SCRONTAB_SECONDS)
    except BackendError:
        return []
    return [] if done.status else done.stdout.splitlines()


def bill() -> Bill:
    """Return the bill of what is asked of Slurm for this user."""
    from ..monitor.asking.bill import Bill

    return Bill(monitor_folder())


def _charge(argv: Sequence[str], cpu: float, end: CallEnd) -> None:
    """Write down a call of a program of Slurm that asks one of its daemons; where that cannot be done, it is free.

    What is called before there is a home makes none.
    """
    from ..monitor.asking.bill import RETRIES, Call

    if "--version" not in argv:
        from paislurm.backends.slurm.commands import submits_retry

        program = RETRIES if submits_retry(argv) else argv[0]
        with suppress(OSError, FolderError):
            if store().home.is_dir():
                bill().add(Call(time=time.time(), program=program, cpu=cpu, end=end))


def _say(words: str) -> None:
    """Tell the user what a backend has to say."""
    from .output.console import log

    log(words)


def _components(backend_name: str, job_id: JobId) -> int:
    """Return how many components the script of a job has; 1 if it cannot be read."""
    from paislurm.backends.batch_script import components
    from paislurm.backends.slurm_emulator.files import read_text

    folder = store().by_id(job_id, backend=backend_name)
    if folder is None:
        return 1
    try:
        return len(components(read_text(folder.script(0))))
    except OSError:
        return 1


def clock() -> int:
    """Return the time in seconds since 1970."""
    return int(time.time())
