"""Where the site forbids processes on login nodes: who started `monitor --once`, and whether that is overdue."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import FolderError
from ...state.rounds import FILE, Round, add, overdue, rounds
from ...times import duration_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...site.profile import Site
    from ...state.rounds import Who
    from ..session import Session

DISABLED = "#DISABLED"
"""What Slurm puts before an entry whose job somebody cancelled. Source: scrontab(1)."""


def note_round(session: Session, site: Site) -> None:
    """Write down that `monitor --once` runs for all jobs, where the site, or that of a job, waits for that.

    Where it cannot be written down, it is as if it had not run.
    """
    if site.monitor.at_end or (session.monitor_folder / FILE).exists():
        with suppress(OSError, FolderError):
            add(session.monitor_folder, Round(int(time.time()), _who()))


def await_rounds(session: Session) -> None:
    """Begin to wait for rounds, unless they are waited for."""
    with suppress(OSError, FolderError):
        if not (session.monitor_folder / FILE).exists():
            add(session.monitor_folder, Round(int(time.time()), "submit"))


def await_no_rounds(session: Session) -> None:
    """Stop waiting for rounds: the site has a monitor of another kind by now."""
    with suppress(OSError, FolderError):
        (session.monitor_folder / FILE).unlink(missing_ok=True)


def warn_of_overdue_round(session: Session) -> None:
    """Say in a line that cron or scrontab seems to have stopped; Slurm is asked for its entries only then."""
    now = int(time.time())
    with suppress(FolderError):
        late = overdue(rounds(session.monitor_folder), now)
        if late is not None:
            session.say(f"warning: {overdue_text(late, now, session.scrontab())}")


def overdue_text(late: Round, now: int, entries: Sequence[str]) -> str:
    """Return the words for a round that is overdue; `entries` are the lines of the user's scrontab."""
    no_round = f"no `paislurm monitor --once` has run for {duration_text(now - late.time)}"
    own = [line for line in entries if "paislurm" in line and "--once" in line]
    if any(not line.startswith("#") for line in own):
        return f"{no_round}, though its scrontab entry is there: `squeue --me` shows it"
    if any(line.startswith(DISABLED) for line in own):
        return f"{no_round}: its scrontab entry was cancelled; `scrontab -e`, and take {DISABLED} away"
    if late.who == "submit":
        return f"{no_round}: add it to scrontab or cron, every 5 minutes say"
    where = "the scrontab entry cancelled" if late.who == "scrontab" else "its line of the crontab still there"
    return f"{no_round}: is {where}?"


def _who() -> Who:
    """Tell who runs this: scrontab's are Slurm jobs, and nobody who has a terminal is cron."""
    if "SLURM_JOB_ID" in os.environ:
        return "scrontab"
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return "cron"
    return "person"
