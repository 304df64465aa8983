"""Submit a sweep: compile all jobs first; jobs that the group has already are not submitted again."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from paislurm.backends.slurm.refusal_table import LIMIT_REACHED

from ...errors import Diagnostic, PaislurmError, RejectedError, UsageError
from ...exit_codes.codes import DEADLINE, NEVER_TAKEN, OUT_OF_MEMORY, REFUSED, STOPPED
from ...files.names import JOB_FILE
from ...files.reading import read_end
from ...monitor.poll import open_job
from ...plural import counted, verb
from ...state.address import newest, parse
from ...state.job_folder import JobFolder
from ...state.journal_records import Pace
from ...state.parsed import parse_int
from ..input.secret_files import kept_text
from ..input.source import Source
from ..jobs.refresh import refresh_all
from ..jobs.selecting import jobs_of_group
from .new_folder import place_for
from .prepare import prepare
from .submission import EndedSubmission, Submitted, SubmittedJob
from .submitting import described, leave_behind, say_next, take
from .sweep_values import points

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...monitor.facts import View
    from ...state.history import History
    from ...state.journal_records import Dependency
    from ...view.jobs import JobView
    from ..session import Session
    from .new_folder import Place
    from .prepare import Prepared
    from .sweep_values import Point


NO_PACE = Pace()
MANY = 100
"""Most jobs that are submitted without --yes."""


class SubmittedSweep(Struct, frozen=True, kw_only=True):
    """A sweep that was submitted."""

    group: str
    """The name of the sweep."""
    jobs: tuple[SubmittedJob, ...]
    """The jobs that were submitted."""
    present: tuple[str, ...]
    """The names of the sweep's jobs that existed before."""
    dry_run: bool
    """Whether nothing was submitted."""


class EndedSweep(Struct, frozen=True, kw_only=True):
    """A sweep that was submitted, and how its jobs ended."""

    group: str
    """The name of the sweep."""
    jobs: tuple[EndedSubmission, ...]
    """The jobs that were submitted."""
    present: tuple[str, ...]
    """The names of the sweep's jobs that existed before."""
    dry_run: bool
    """Whether nothing was submitted."""


class Sweep(Struct, frozen=True, kw_only=True):
    """The result of a sweep: the submitted jobs, and the names of jobs that existed before."""

    group: str
    submitted: tuple[Submitted, ...]
    present: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names of all jobs of the sweep."""
        return [*self.present, *(each.folder.name for each in self.submitted)]

    def printed(self, *, dry_run: bool) -> SubmittedSweep:
        """Return the record for JSON."""
        jobs = tuple(each.printed for each in self.submitted)
        return SubmittedSweep(group=self.group, jobs=jobs, present=self.present, dry_run=dry_run)

    def ended(self, found: Mapping[str, JobView]) -> EndedSweep:
        """Return the ends of the jobs as a record for JSON; `found` is by names of folders."""
        jobs = tuple(each.ended(found[each.folder.name]) for each in self.submitted)
        return EndedSweep(group=self.group, jobs=jobs, present=self.present, dry_run=False)


def submit_sweep(
    session: Session,
    source: Source,
    words: Sequence[str],
    *,
    dry_run: bool,
    after: tuple[Dependency, ...] = (),
    failed: str | None = None,
    pace: Pace = NO_PACE,
    yes: bool = False,
    say: Callable[[Submitted], None] = lambda _: None,
) -> Sweep:
    """Submit a job for each point of a sweep unless it exists, and call `say` with each submitted job.

    Jobs that `failed` for this cause are submitted again. Those that `pace` or a limit of Slurm holds back wait here.
    Raises UsageError for more than MANY without `yes`. Other errors contain the number of submitted jobs.
    """
    found = points(words, own={name for name, _ in source.parameters})
    if len(found) > MANY and not (yes or dry_run):
        message = f"the sweep has {len(found)} jobs, more than {MANY}"
        raise UsageError(Diagnostic(code="E582", message=message, hint="use `--yes` to submit all of them"))
    again = is_failed(failed) if failed is not None else lambda _: False
    sources = [_source(source, point, ending) for point, ending in zip(found, endings(found), strict=True)]
    jobs = prepare(session, sources, keep=not dry_run, after=after)
    name = jobs[0].compiled.job.name.removesuffix(sources[0].suffix.removeprefix(source.suffix))
    group = group_of(session, jobs, found, name, again)
    submitted = _submit(session, group, pace, dry_run=dry_run, say=say)
    return Sweep(
        group=group.name,
        submitted=tuple(submitted),
        present=group.present,
    )


def _source(source: Source, point: Point, ending: str) -> Source:
    typed = {**source.typed, **Source(file="", parameters=tuple(point.items())).typed_by("--sweep").typed}
    parameters = (*source.parameters, *point.items())
    return replace(source, parameters=parameters, suffix=f"{source.suffix}{ending}", typed=typed)


def _submit(
    session: Session, group: Group, pace: Pace, *, dry_run: bool, say: Callable[[Submitted], None]
) -> list[Submitted]:
    done: list[Submitted] = []
    if not group.missing:
        return done
    first = group.missing[0][0]
    if dry_run:
        return [described(session, job, place.folder) for job, place in group.missing]
    # A paced group whose jobs live gets no other job but by the monitor, who counts them.
    members = session.store.members(session.user, group.name) if pace.most_at_once else ()
    waits = any(known.ended is None for _, known in members)
    try:
        for job, place in group.missing:
            done.append(_taken(session, _paced(job, pace), place, pace, waits=waits))
            say(done[-1])
            waits = waits or bool(pace.most_at_once) or done[-1].job_id == ""
        if any(each.job_id == "" for each in done):
            with suppress(OSError):
                refresh_all(session, [open_job(each.folder) for each in done])
    except (PaislurmError, KeyboardInterrupt) as error:
        count = len(done) + len(group.present)
        total = len(group.missing) + len(group.present)
        words = f"{count} of {counted(total, 'job')} of {group.name} {verb(total, 'is', 'are')} submitted"
        hint = "run the same command again to submit the others"
        if not isinstance(error, PaislurmError):
            session.say(f"{words}; {hint}")
            raise
        rest = Diagnostic(code="E586", message=words, hint=f"{hint}; `paislurm list --group {group.name}` lists them")
        error.diagnostics = (*error.diagnostics, rest)
        raise
    finally:
        leave_behind(session, first)
    say_next(session, first)
    return done


def _paced(job: Prepared, pace: Pace) -> Prepared:
    """Return a job whose script calls the monitor after any end, where the site has no other monitor."""
    plan = job.compiled.plan
    if not (pace.most_at_once and plan.retry_policy.monitor_after):
        return job
    retry_policy = replace(plan.retry_policy, monitor_after="end")
    return replace(job, compiled=replace(job.compiled, plan=replace(plan, retry_policy=retry_policy)))


def _taken(session: Session, job: Prepared, place: Place, pace: Pace, *, waits: bool) -> Submitted:
    """Submit a job, or let it wait here, also if Slurm accepts no more jobs for now."""
    if not waits:
        try:
            return take(session, job, place, patience=0)
        except RejectedError as error:
            if error.diagnostics[0].code != LIMIT_REACHED:
                raise
            place = place_for(session, job.name)
    return take(session, replace(job, pace=pace), place)


LONGEST = 60
"""Most characters of a suffix; a longer one is cut and gets a digest."""
_DIGEST = 8


def endings(points: Sequence[Mapping[str, str]]) -> list[str]:
    """Return a unique suffix for the job's name for each point: `-lr0_1-seed3`.

    Suffixes contain only characters allowed in OpenPAI's names. A suffix that is ambiguous or too long gets a digest
    of the values, so that a point has the same name in every submission.
    """
    short = ["".join(f"-{_allowed(name)}{_allowed(value)}" for name, value in point.items()) for point in points]
    count = Counter(each.lower() for each in short)
    return [
        each if count[each.lower()] == 1 and len(each) <= LONGEST else _with_digest(each, point)
        for each, point in zip(short, points, strict=True)
    ]


def _allowed(text: str) -> str:
    """Remove the quotes around a value, and replace each character that names cannot contain by `_`."""
    bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
    return re.sub(r"[^A-Za-z0-9_-]", "_", bare)


def _with_digest(ending: str, point: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(point, sort_keys=True).encode(errors="surrogatepass")).hexdigest()[:_DIGEST]
    return f"{ending[: LONGEST - _DIGEST - 1]}-{digest}"


MAX_TEXT = 64 << 20


class Group(Struct, frozen=True, kw_only=True):
    """A sweep: its name, the folders of its existing jobs, and the missing ones, each with its place."""

    name: str
    present: tuple[str, ...]
    missing: tuple[tuple[Prepared, Place], ...]


CAUSES = {"any": None, "out-of-memory": OUT_OF_MEMORY, "timeout": DEADLINE}
"""The causes of failures that have names, with their exit codes."""


def is_failed(cause: str) -> Callable[[History], bool]:
    """Return whether a job failed for a cause: a name in CAUSES, or an exit code. Raises UsageError for another one."""
    code = CAUSES.get(cause, parse_int(cause))
    if code is None and cause not in CAUSES:
        hint = f"write {', '.join(CAUSES)} or an exit code; the job file goes before `--failed`"
        raise UsageError(Diagnostic(code="E547", message=f"--failed {cause}: unknown cause", hint=hint))
    return lambda known: (
        known.ended is not None and known.ended.state == "FAILED" and code in (None, known.ended.exit_code)
    )


def group_of(
    session: Session,
    jobs: Sequence[Prepared],
    points: Sequence[Mapping[str, str]],
    name: str,
    again: Callable[[History], bool],
) -> Group:
    """Return the sweep of these jobs; `name` is the name of the job file.

    A job exists if the same file was submitted for the same point and reached the backend, whatever its end, except
    those to submit `again`. Raises all errors of the missing jobs together.
    """
    present: list[str] = []
    missing: list[tuple[Prepared, Place]] = []
    faults: list[PaislurmError] = []
    group = ""
    found = _existing(session, jobs)
    for job, point in zip(jobs, points, strict=True):
        view = found.get(job.name)
        if view is not None and dict(view.history.sweep) == dict(point) and _has_text(view.folder, job):
            group = group or view.history.group
            if not again(view.history):
                present.append(view.folder.name)
                continue
        try:
            missing.append((replace(job, sweep=dict(point)), place_for(session, job.name)))
        except PaislurmError as error:
            faults.append(error)
    if faults:
        faults[0].diagnostics = tuple(each for fault in faults for each in fault.diagnostics)
        raise faults[0]
    group = group or _free_name(session, name, set(points[0]))
    return Group(
        name=group,
        present=tuple(present),
        missing=tuple((replace(job, group=group), place) for job, place in missing),
    )


def _existing(session: Session, jobs: Sequence[Prepared]) -> dict[str, View]:
    """Return the newest jobs of the names that reached the backend, with one query for all."""
    opened, folders = [], newest(session.store.names())
    for job in jobs:
        if job.name in folders:
            with suppress(OSError):
                opened.append(open_job(JobFolder(path=session.store.jobs / folders[job.name])))
    views = refresh_all(session, opened) if opened else []
    return {parse(view.folder.name).name: view for view in views if not _never_reached(view.history)}


def _never_reached(known: History) -> bool:
    """Return whether a job ended before it had a job of Slurm, and not by its user's wish."""
    end, codes = known.ended, (NEVER_TAKEN, REFUSED, STOPPED)
    return end is not None and not known.job_id and known.cancelled is None and end.exit_code in codes


def _has_text(folder: JobFolder, job: Prepared) -> bool:
    """Return whether the existing job in a folder has the same job file."""
    with suppress(OSError):
        data, whole = read_end(folder.path / JOB_FILE, MAX_TEXT)
        return whole and data == kept_text(job.text, job.compiled.document)
    return False


def _free_name(session: Session, name: str, parameters: set[str]) -> str:
    """Return the name, with a number if an unfinished job or a group with other parameters has it."""
    for number in count(1):
        group = name if number == 1 else f"{name}-{number}"
        try:
            place_for(session, f"{session.user}~{group}")
        except PaislurmError:
            continue
        members = jobs_of_group(session.store, group, user=session.user)
        if all(set(folder.history().sweep) == parameters for folder in members):
            return group
    raise AssertionError("numbers do not end")
