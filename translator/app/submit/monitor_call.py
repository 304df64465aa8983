"""What a batch script calls at its end where a site forbids processes on login nodes, and what `submit` says of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..jobs.rounds import await_no_rounds, await_rounds, warn_of_overdue_round
from ..own_call import own_call

if TYPE_CHECKING:
    from ...site.profile import Site
    from ..session import Session

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
