"""Monitor the user's jobs: record how they end, and submit the retries that are due; and count the calls to Slurm."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.runner import JWT, JWT_HINT, has_expired

from ..errors import Diagnostic, UsageError
from ..monitor.job_files import is_nearly_spent, used
from ..monitor.loop import Monitor
from ..monitor.notify import NotificationSender
from ..monitor.polling.call_log import MONITOR, Call
from ..terminal_text import one_line
from ..times import format_time
from .jobs.job_sites import JobSites, note_monitor_run
from .jobs.polling import MAX_AGE, ahead, poll_at_most_every, take_step
from .jobs.refresh import dependencies, everything, monitor_lock
from .jobs.removing import tidy_up
from .session import own_call
from .sites.find import find_site
from .submit.background import rotate_log

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from paislurm.backends.base import JobId

    from ..files.lock import Lock
    from ..monitor.polling.shared_results import Ask, PollResult
    from .session import Session


MIN_LOGGED = 0.02
"""The least CPU seconds that are worth a line of the call log."""
TRIES = 10
"""Seconds during which a command that only shows a job may have the lock."""
ROUND = 60
"""The oldest poll result that a monitor run (`--once`) accepts, in seconds; cron sets the interval."""


class Worked(Struct, frozen=True, kw_only=True):
    """The result of a monitor run."""

    worked: bool
    """Whether this monitor did any work."""


def run_monitor(session: Session, site: str | None = None, *, once: bool = False) -> Worked | None:
    """Monitor all jobs until none is left, or with `once` handle each job once.

    `site` is a site profile for all jobs; default: each job's own. Return None when the CPU time of this process is
    nearly used up and another process must continue. Each action is an event.
    """
    profile = find_site(session, site)
    sites, lock = JobSites(session, profile, for_all=site is not None), monitor_lock(session)
    monitor = _monitor(
        session, sites, lock, lambda interval: poll_at_most_every(session, min(ROUND, interval) if once else interval)
    )
    if once:
        note_monitor_run(session, profile)
    worked, tries, problem = False, 0, ""
    while tries < TRIES:
        with lock.taken() as mine:
            if mine:
                worked = True
                if _work(session, monitor, once=once):
                    if not has_expired(session.environment):
                        return None
                    # With the lock, it would keep out a monitor that has another token.
                    _log(session, f"{JWT} has expired: this monitor ends. {JWT_HINT}, and call `paislurm monitor`")
                    break
        if (worked and (once or not monitor.needs_monitor())) or (not worked and not monitor.needs_monitor()):
            break
        if lock.problem != problem:
            problem = lock.problem
            written = (
                f"cannot write {session.monitor_folder}: {problem}"
                if problem
                else "the monitor's folder is writable again"
            )
            _log(session, written)
        if problem and once:
            break
        # Retry an unwritable folder while jobs are left.
        tries += not problem
        time.sleep(profile.monitor.max_poll_interval if problem else 0 if worked else 1)
    if not worked and not problem:
        session.say("another monitor is running" if monitor.needs_monitor() else "no unfinished job")
    return Worked(worked=worked)


def monitor_job(session: Session, job: str, site: str | None = None, *, once: bool = True) -> Worked:
    """Handle one job whose attempt has just ended, and return whether this process did it."""
    if not once:
        message = "JOB can only be used with --once: without --once, a monitor handles all jobs"
        raise UsageError(Diagnostic(code="E547", message=message))
    sites = JobSites(session, find_site(session, site), for_all=site is not None)
    folder, lock = session.store.find(job, user=session.user), monitor_lock(session)
    monitor = _monitor(
        session, sites, lock, lambda _: poll_at_most_every(session, MAX_AGE, partial(everything, session)), ahead
    )
    worked = take_step(folder, monitor, lock)
    if not worked:
        _log(session, f"{folder.name}: another process is monitoring it, or nothing is due")
    return Worked(worked=worked)


def go_on_in_another(session: Session, words: Sequence[str]) -> int:
    """Continue in a new process with a new limit of CPU time; on a terminal, wait for it.

    A background process starts another one. `words` are the arguments of `monitor`.
    """
    _log(session, f"{used():.0f} CPU seconds used, near the limit: another process continues")
    argv = [*own_call(), "monitor", *words]
    if os.getsid(0) != os.getpid():
        return subprocess.run(argv, env=session.environment, check=False).returncode
    left_behind = subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=session.environment, start_new_session=True)
    left_behind.returncode = 0
    return 0


def _monitor(
    session: Session,
    sites: JobSites,
    lock: Lock,
    ask: Callable[[float], Ask],
    ahead: Callable[[str], int] = lambda _: 0,
) -> Monitor:
    log = partial(_log, session)
    means = dependencies(session, lock, sites, poll_at_most_every=_charging(session, ask), ahead=ahead)

    def tidy() -> None:
        rotate_log(session)
        tidy_up(session, sites.own.jobs.remove_after, log)

    return Monitor(session.store, means, NotificationSender(sites.of), log, tidy)


def _work(session: Session, monitor: Monitor, *, once: bool) -> bool:
    """Monitor jobs under the lock; return whether another process must continue."""
    spent = False
    try:
        if once:
            monitor.step()
        else:
            spent = monitor.run(spent=lambda: is_nearly_spent() or has_expired(session.environment))
        monitor.finish()
    except OSError as error:
        _log(session, f"another monitor has the lock, or it cannot be written: {error}")
    return spent


def _charging(session: Session, ask: Callable[[float], Ask]) -> Callable[[float], Ask]:
    """Wrap polls so that each also logs this process's own CPU time."""
    charged = 0.0

    def asked(interval: float, name: str, ids: Collection[JobId], tags: Collection[str]) -> PollResult:
        nonlocal charged
        now = used()
        if now - charged >= MIN_LOGGED:
            with suppress(OSError):
                session.call_log.add(Call(time=session.clock(), program=MONITOR, cpu=now - charged))
            charged = now
        return ask(interval)(name, ids, tags)

    return lambda interval: partial(asked, interval)


def _log(session: Session, text: str) -> None:
    session.say(one_line(f"{format_time(session.now())} {text}"))


class ProgramCost(Struct, frozen=True, kw_only=True):
    """Calls of one program of Slurm."""

    program: str
    """The program of Slurm."""
    calls: int
    """The number of calls."""
    failed: int
    """The number of failed calls."""
    cpu_seconds: float
    """The CPU time of the calls."""


class SlurmCalls(Struct, frozen=True, kw_only=True):
    """The user's calls to Slurm."""

    hours: int
    """The hours that the counts cover."""
    programs: tuple[ProgramCost, ...]
    """The calls of each program of Slurm."""
    monitor_cpu_seconds: float
    """The CPU time of the monitor itself."""
    retries_in_last_hour: int
    """The number of retries of the user's jobs submitted in the last hour."""
    max_attempts_per_hour: int
    """The site's limit on a user's attempts in an hour."""
