"""`paislurm monitor`: look after the user's jobs."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import click

from ....terminal_text import one_line
from ...options import examples, json_option, pass_session
from ...output.console import log, print_json
from ...shell.candidates import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from paislurm.backends.base import JobId

    from ....app.jobs.job_sites import JobSites
    from ....app.session import Session
    from ....monitor.asking.answer import Answer, Ask
    from ....monitor.loop import Monitor
    from ....state.lock import Lock

MIN_CHARGE = 0.02
"""CPU seconds that are worth a line of the bill."""
TRIES = 10
"""Seconds in which the lock may be a command's that only looks at a job."""
ROUND = 60
"""Seconds: so old an answer of Slurm may be in a round (`--once`); how often that is asked is cron's business."""


@click.command(
    epilog=examples("paislurm monitor", "paislurm monitor --once", "paislurm monitor --bill")
    + "\n\n\b\nWhere no process may stay behind on a login node, cron or scrontab does:"
    "\n  */5 * * * * paislurm monitor --once"
)
@click.argument("job", metavar="[JOB]", required=False, type=Job())
@click.option("--bill", "as_bill", is_flag=True, help="Show what was asked of Slurm in the last 24 hours, and end.")
@click.option("--once", is_flag=True, help="Poll all jobs once, do what is due, and end.")
@click.option("--site", metavar="FILE", help="The site profile for all jobs. Default: each job's own.")
@json_option
@pass_session
def command(session: Session, site: str | None, job: str | None, *, as_bill: bool, once: bool, as_json: bool) -> int:
    """Look after your jobs: write down how they end, and submit the attempts that are due.

    It looks at the folders of jobs each second, and asks Slurm every three minutes, or as often as the site says, for
    all jobs at once; sooner where a folder says that Slurm has something to tell. --bill shows what was asked for you,
    by all commands.

    Each job has the notifier and the bounds of the site profile that it was submitted with. --site names one for all.

    It ends when nothing is left to watch. `submit` leaves one behind where the site allows it; of any number that
    run, one does the work. Every command that shows a job does the same for that job, if no monitor runs.

    With --once and JOB it looks at that job alone, whose attempt has just ended: where a site forbids processes on
    login nodes (`monitor: none` of its profile), the batch script calls this.
    """
    import signal

    from ....app.input.sites import find_site
    from ....app.jobs.asking import seldom
    from ....app.jobs.job_sites import JobSites
    from ....app.jobs.refresh import monitor_lock
    from ....app.jobs.rounds import note_round
    from ....monitor.watching.folder_watch import outlive_warning
    from ...output.bill_table import show_bill

    profile = find_site(session, site)
    if as_bill:
        show_bill(session, profile.retry.max_attempts_per_hour, as_json=as_json)
        return 0
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # Who is told to end lets the next monitor begin at once; that is how one of another version takes over.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    outlive_warning()
    sites = JobSites(session, profile, for_all=site is not None)
    if job is not None:
        return _step_of(session, job, sites, once=once, as_json=as_json)
    lock = monitor_lock(session)
    monitor = _monitor(
        session, sites, lock, lambda interval: seldom(session, min(ROUND, interval) if once else interval)
    )
    if once:
        note_round(session, profile)
    worked, tries, problem = False, 0, ""
    spent = False
    while tries < TRIES:
        with lock.taken() as mine:
            if mine:
                worked = True
                spent = _work(monitor, once=once)
        if spent:
            return _go_on_in_another(site, as_json=as_json)
        if (worked and (once or not monitor.left())) or (not worked and not monitor.left()):
            break
        if lock.problem != problem:
            problem = lock.problem
            _log(f"{session.monitor_folder} cannot be written: {problem}" if problem else "it can be written again")
        if problem and once:
            break
        # A folder that cannot be written is tried for as long as there are jobs.
        tries += not problem
        time.sleep(profile.monitor.max_poll_interval if problem else 0 if worked else 1)
    if not worked and not problem:
        log("another monitor is at work" if monitor.left() else "there is no job to look after")
    if as_json:
        print_json({"worked": worked})
    return 0


def _monitor(
    session: Session,
    sites: JobSites,
    lock: Lock,
    ask: Callable[[float], Ask],
    ahead: Callable[[str], int] = lambda _: 0,
) -> Monitor:
    from ....app.jobs.folders.housekeeping import keep_house
    from ....app.jobs.refresh import dependencies
    from ....monitor.loop import Monitor
    from ....monitor.notify import NotificationSender

    sender = NotificationSender(sites.of)
    means = dependencies(session, lock, sites, seldom=_charging(session, ask), ahead=ahead)
    return Monitor(session.store, means, sender, _log, lambda: keep_house(session, sites.own.jobs.remove_after, _log))


def _step_of(session: Session, job: str, sites: JobSites, *, once: bool, as_json: bool) -> int:
    """Take a step with one job, and say whether this process did it."""
    from ....app.jobs.asking import seldom
    from ....app.jobs.refresh import everything, monitor_lock
    from ....app.jobs.step_at_end import MAX_AGE, ahead, take_step

    if not once:
        raise click.UsageError("a JOB goes with --once: a monitor that stays looks after all jobs")
    folder, lock = session.store.find(job, user=session.user), monitor_lock(session)
    worked = take_step(
        folder,
        _monitor(session, sites, lock, lambda _: seldom(session, MAX_AGE, partial(everything, session)), ahead),
        lock,
    )
    if not worked:
        _log(f"{folder.name}: another process is at work, or has done what was due")
    if as_json:
        print_json({"worked": worked})
    return 0


def _work(monitor: Monitor, *, once: bool) -> bool:
    """Do the work under the lock; tell whether another process is to go on with it."""
    spent = False
    try:
        if once:
            monitor.step()
        else:
            spent = monitor.run()
        monitor.finish()
    except OSError as error:
        _log(f"the lock is another monitor's, or cannot be written: {error}")
    return spent


def _charging(session: Session, ask: Callable[[float], Ask]) -> Callable[[float], Ask]:
    """Return the same questions, which put this process's own CPU time on the bill whenever they are asked."""
    from ....monitor.asking.bill import MONITOR, Call
    from ....monitor.watching.folder_watch import used

    charged = 0.0

    def asked(interval: float, name: str, ids: Collection[JobId], tags: Collection[str]) -> Answer:
        nonlocal charged
        now = used()
        if now - charged >= MIN_CHARGE:
            with suppress(OSError):
                session.bill.add(Call(time=time.time(), program=MONITOR, cpu=now - charged))
            charged = now
        return ask(interval)(name, ids, tags)

    return lambda interval: partial(asked, interval)


def _go_on_in_another(site: str | None, *, as_json: bool) -> int:
    """Have a new process go on, which knows all from the journals and has its own CPU time; wait for it on a terminal.

    One that was left behind leaves another behind.
    """
    import subprocess

    from ....app.own_call import own_call
    from ....monitor.watching.folder_watch import used

    _log(f"{used():.0f} CPU seconds are used, nearly as many as are allowed: another process goes on")
    argv = [*own_call(), "monitor"]
    argv += (["--site", site] if site else []) + (["--json"] if as_json else [])
    if os.getsid(0) != os.getpid():
        return subprocess.run(argv, check=False).returncode
    left_behind = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
    left_behind.returncode = 0
    return 0


def _log(text: str) -> None:
    from ....times import format_time

    log(one_line(f"{format_time(int(time.time()))} {text}"))
