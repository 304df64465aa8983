"""Monitor runs on sites without a monitor process: their starter (cron, scrontab), and a warning if one is overdue."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import FolderError
from ...files.private import remove
from ...state.monitor_runs import FILE, MonitorRun, add, monitor_runs, overdue
from ...times import duration_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...site.profile import Site
    from ...state.monitor_runs import Who
    from ..session import Session

DISABLED = "#DISABLED"
"""Slurm's prefix for a scrontab entry whose job was cancelled. Source: scrontab(1)."""


def note_monitor_run(session: Session, site: Site) -> None:
    """Record a monitor run for all jobs, if the site or the site of a job relies on such runs.

    Errors of writing are ignored.
    """
    if site.monitor.at_end or (session.monitor_folder / FILE).exists():
        with suppress(OSError, FolderError):
            add(session.monitor_folder, MonitorRun(session.now(), _who(session)))


def await_monitor_runs(session: Session) -> None:
    """Start to expect monitor runs, unless already expected."""
    with suppress(OSError, FolderError):
        if not (session.monitor_folder / FILE).exists():
            add(session.monitor_folder, MonitorRun(session.now(), "submit"))


def await_no_monitor_runs(session: Session) -> None:
    """Stop expecting monitor runs: the site now uses another kind of monitor."""
    with suppress(OSError, FolderError):
        remove(session.monitor_folder / FILE)


def warn_of_overdue_monitor(session: Session) -> None:
    """Warn if cron or scrontab seems to have stopped; Slurm is queried for scrontab entries only then."""
    now = session.now()
    with suppress(FolderError):
        late = overdue(monitor_runs(session.monitor_folder), now)
        if late is not None:
            session.say(f"warning: {overdue_text(late, now, session.scrontab())}")


def overdue_text(late: MonitorRun, now: int, entries: Sequence[str]) -> str:
    """Return the message for an overdue monitor run; `entries` are the lines of the user's scrontab."""
    no_monitor_run = f"no `paislurm monitor --once` has run for {duration_text(now - late.time)}"
    own = [line for line in entries if "paislurm" in line and "--once" in line]
    if any(not line.startswith("#") for line in own):
        return f"{no_monitor_run}, although it has a scrontab entry: check it with `squeue --me`"
    if any(line.startswith(DISABLED) for line in own):
        return f"{no_monitor_run}: its scrontab entry was cancelled; run `scrontab -e` and remove {DISABLED}"
    if late.who == "submit":
        return f"{no_monitor_run}: add it to scrontab or cron, for example every 5 minutes"
    where = "the scrontab entry was cancelled" if late.who == "scrontab" else "the crontab still has its line"
    return f"{no_monitor_run}: check whether {where}"


def _who(session: Session) -> Who:
    """Return the starter of this process: a Slurm job means scrontab; a process with a terminal is not cron's."""
    if session.setting("SLURM_JOB_ID"):
        return "scrontab"
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return "cron"
    return "person"
