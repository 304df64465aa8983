"""Start a monitor in the background. It survives a logout and exits when no job is left."""

from __future__ import annotations

import os
from contextlib import suppress
from subprocess import DEVNULL, Popen
from typing import TYPE_CHECKING

from ...files.private import open_private, rename
from ..jobs.job_sites import await_monitor_runs, await_no_monitor_runs, warn_of_overdue_monitor
from ..jobs.refresh import monitor_lock
from ..session import own_call

if TYPE_CHECKING:
    from pathlib import Path

    from ...site.profile import Site
    from ..session import Session

LOG = "monitor.log"
MAX_LOG = 1 << 20


def leave_monitor(session: Session, site: Site, *, remote: bool = False) -> bool:
    """Start a monitor unless one runs or the site forbids it; return whether it was started.

    The site's setting applies to its login nodes: jobs on a remote cluster (`remote`) are monitored from here.

    Inside a Slurm job no monitor is started, because Slurm would end it with the job. Errors do not affect the
    submission: the next command that shows the job does the monitor's work.
    """
    if not (site.monitor.background or remote) or session.setting("SLURM_JOB_ID"):
        return False
    with suppress(OSError):
        if not monitor_lock(session).owned():
            _start(session)
            return True
    return False


def rotate_log(session: Session) -> None:
    """Continue in a new log if this process writes to the background monitor's and that is full."""
    path = session.monitor_folder / LOG
    with suppress(OSError):
        if os.path.samestat(os.fstat(1), path.stat()) and _set_aside(path):
            with open_private(path, "ab") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)


def _set_aside(path: Path) -> bool:
    """Rename a full log; return whether it was full."""
    if path.stat().st_size <= MAX_LOG:
        return False
    rename(path, path.with_name("monitor.1.log"))
    return True


def _start(session: Session) -> None:
    path = session.monitor_folder / LOG
    with suppress(FileNotFoundError):
        _set_aside(path)
    with open_private(path, "ab") as log:
        monitor = Popen(
            [*own_call(), "monitor"],
            stdin=DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=session.environment,
            start_new_session=True,
        )
    # The monitor outlives this process; avoid Popen's ResourceWarning.
    monitor.returncode = 0


MONITOR_CALL = "monitor-call"
"""The file with the monitor's command line for the script of each attempt: arguments of env(1), each with a NUL."""
AT_END = (
    "no monitor runs (`monitor: none`): each attempt submits the next one at its end; for jobs that are cancelled, "
    "are lost or never start, run `paislurm monitor --once` by scrontab or cron"
)


def monitor_call(session: Session, site: str | None) -> bytes:
    """Return the command line, to which the script appends the job's name; `site` is the profile of `--site`.

    The home and the profile are absolute paths, because the script may start in another folder and with a reduced
    environment. A profile without `--site` is found by the usual search.
    """
    named = site or session.setting("PAISLURM_SITE")
    words = [
        f"PAISLURM_HOME={session.store.home}",
        *([f"PAISLURM_SITE={os.path.abspath(named)}"] if named else []),  # noqa: PTH100 - links stay as they are
        *(f"{name}={value}" for name, value in session.environment.items() if name == "PYTHONPATH"),
        *own_call(),
        "monitor",
        "--once",
        "--",
    ]
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def say_monitor(session: Session, site: Site) -> None:
    """Send a message about monitoring of a submitted job without a monitor; warn if cron seems to be missing."""
    if not site.monitor.at_end:
        await_no_monitor_runs(session)
        return
    await_monitor_runs(session)
    session.say(AT_END)
    warn_of_overdue_monitor(session)
