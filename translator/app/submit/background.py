"""Leave a monitor behind: a process of its own that survives the log-out and ends when nothing is left to watch."""

from __future__ import annotations

import os
from contextlib import suppress
from subprocess import DEVNULL, Popen
from typing import TYPE_CHECKING

from ..jobs.refresh import monitor_lock
from ..jobs.rounds import await_no_rounds, await_rounds, warn_of_overdue_round
from ..own_call import own_call

if TYPE_CHECKING:
    from ...site.profile import Site
    from ..session import Session

MAX_LOG = 1 << 20


def leave_monitor(session: Session, site: Site, *, elsewhere: bool = False) -> bool:
    """Start a monitor unless there is one, or the site wants none; tell whether one was started.

    What the site wants is for its login nodes: a job that is `elsewhere` is watched from here.

    Not from inside a Slurm job: Slurm would end it with the job. Whatever goes wrong, the job is not hindered: the
    next command that shows it does the monitor's work.
    """
    if not (site.monitor.background or elsewhere) or "SLURM_JOB_ID" in os.environ:
        return False
    with suppress(OSError):
        if not monitor_lock(session).owned():
            _start(session)
            return True
    return False


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _start(session: Session) -> None:
    path = session.monitor_folder / "monitor.log"
    with suppress(FileNotFoundError):
        if path.stat().st_size > MAX_LOG:
            path.replace(path.with_name("monitor.1.log"))
    with open(path, "ab", opener=_private) as log:
        monitor = Popen(
            [*own_call(), "monitor"],
            stdin=DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=session.environment,
            start_new_session=True,
        )
    # It outlives this process, which is not to wait for it, nor to warn of that.
    monitor.returncode = 0


MONITOR_CALL = "monitor-call"
"""The file in which the script of any attempt finds the call: words for env(1), a NUL behind each."""
AT_END = (
    "no process stays behind (`monitor: none`): the end of an attempt submits the next one; for jobs that are "
    "cancelled, lost or never start, have scrontab or cron call `paislurm monitor --once`"
)


def monitor_call(session: Session, site: str | None) -> bytes:
    """Return the call, to which the script adds the job's name; `site` is the profile that `--site` names.

    The home and the profile are those of `submit`, by absolute paths: the script begins in another folder, and may
    have been given less than all of the environment. A profile that was not named is found again by itself.
    """
    named = site or session.setting("PAISLURM_SITE")
    words = [
        f"PAISLURM_HOME={session.store.home}",
        *([f"PAISLURM_SITE={os.path.abspath(named)}"] if named else []),  # noqa: PTH100 - links stay as they are
        *own_call(),
        "monitor",
        "--once",
        "--",
    ]
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def say_who_looks_after(session: Session, site: Site) -> None:
    """Say in a line what looks after a job that was submitted, where no monitor does; warn if it seems to be gone."""
    if not site.monitor.at_end:
        await_no_rounds(session)
        return
    await_rounds(session)
    session.say(AT_END)
    warn_of_overdue_round(session)
