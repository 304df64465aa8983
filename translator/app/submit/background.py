"""Leave a monitor behind: a process of its own that survives the log-out and ends when nothing is left to watch."""

from __future__ import annotations

import os
from contextlib import suppress
from subprocess import DEVNULL, Popen
from typing import TYPE_CHECKING

from ..jobs.refresh import monitor_lock
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
