"""The site profiles of jobs, and the monitor that they rely on: warn if it has not run for long."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import FolderError, PaislurmError
from ...files.private import remove, writable_by_others
from ...monitor.job_site import JobSite
from ...state.monitor_runs import FILE, MonitorRun, add, monitor_runs, overdue
from ...times import duration_text
from ..sites.find import find_site, profile_files, profile_option, site_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...site.profile import Site
    from ...state.history import History
    from ...state.monitor_runs import Who
    from ...state.run_record import RunRecord
    from ..session import Session


INSTEAD = (
    "; no notifications are sent, and the limits of polling and retries are the defaults: "
    "use `paislurm monitor --site FILE` to set a profile for all jobs"
)


class JobSites:
    """The site of each job; each profile is read once.

    `own` is the profile of this process. It applies to jobs submitted without a profile, and with `for_all` to all.
    """

    def __init__(self, session: Session, own: Site | None = None, *, for_all: bool = False) -> None:
        self._session, self._own = session, own
        self._for_all = for_all
        self._read: dict[tuple[object, ...], tuple[Site, JobSite]] = {}

    @property
    def own(self) -> Site:
        """The profile of this process; the defaults if it cannot be read."""
        if self._own is None:
            try:
                self._own = find_site(self._session, None)
            except PaislurmError:
                from ...site.profile import Site

                self._own = Site.of()
        return self._own

    def of(self, known: History) -> JobSite:
        """Return the site's settings for monitoring a job."""
        return self._of(known)[1]

    def profile(self, known: History) -> Site:
        """Return the site profile of a job."""
        return self._of(known)[0]

    def most_attempts(self, known: History) -> int:
        """Return the site's limit on the user's attempts in an hour, for an attempt of this job."""
        return self._of(known)[0].retry.max_attempts_per_hour

    def interval(self) -> float:
        """Return the interval in seconds at which Slurm is polled for all jobs of the user."""
        return self.own.monitor.max_poll_interval

    def _of(self, known: History) -> tuple[Site, JobSite]:
        run = None if self._for_all else known.run
        key = (*run.site_profiles, known.backend) if run is not None and run.site_profiles else ()
        if key not in self._read:
            problem = missing_profile(self._session, known) if key else ""
            site, is_named = self.own, self._for_all
            if run is not None and key and not problem:
                try:
                    site, is_named = _site_of(self._session, run, known.backend)
                except PaislurmError as error:
                    problem = error.diagnostics[0].message + INSTEAD
            if not is_named and site.notifications.notifier is not None:
                problem = problem or _unsafe(profile_files(self._session, None))
            self._read[key] = site, _job_site(site, problem)
        return self._read[key]


def missing_profile(session: Session, known: History) -> str:
    """Return a message if the named profile of a job is gone, else ""."""
    files = [each.file for each in known.run.site_profiles] if known.run is not None else []
    if not files or Path(files[0]).is_file() or profile_option(session, files) is None:
        return ""
    return f"the site profile {files[0]} with which the job was submitted is gone" + INSTEAD


def _unsafe(files: Iterable[Path]) -> str:
    """Return why no notification program is run: others may have written the profile that names it; "" if none has."""
    found = ((file, writable_by_others(file)) for file in files)
    texts = (f"the site profile {file} is not safe: {why}; no notifications are sent" for file, why in found if why)
    return next(texts, "")


def _site_of(session: Session, run: RunRecord, backend: str) -> tuple[Site, bool]:
    """Return the profile of a run, and whether it was named for it.

    Raises SiteError, also if others may have changed a named one since: it names programs.
    """
    digests = {each.sha256 for each in run.site_profiles}

    def refuses(path: Path, text: bytes) -> str:
        from hashlib import sha256

        why = "" if sha256(text).hexdigest() in digests else writable_by_others(path)
        return why and f"has changed since the job was submitted, and {why}"

    option = profile_option(session, [each.file for each in run.site_profiles])
    unnamed = site_path(session, None)
    if option and unnamed and os.path.realpath(option) == os.path.realpath(unnamed):
        # Other settings of the profile are used even if others can write to it.
        option = None
    host = backend.partition(":")[2] or None
    return find_site(session, option, host=host, refuses=refuses if option else None), option is not None


def _job_site(site: Site, problem: str) -> JobSite:
    notifier = site.notifications.notifier if not problem else None
    return JobSite(
        notifier=notifier.argv if notifier else (),
        sends_mail=notifier is not None and notifier.mail,
        poll_interval=site.monitor.max_poll_interval,
        problem=problem,
    )


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
