"""One step of the monitor: poll jobs, record what is new, submit the attempts that are due.

Only one process at a time takes a step for a user (see `lock`). After an interruption, the next step continues:
every effect is recorded before it starts, can be found by its tag, and is harmless if repeated.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from paislurm.backends.base import LOCAL
from paislurm.backends.registry import is_remote
from paislurm.backends.slurm.job_states import FORGOTTEN, Phase, phase

from ..errors import BackendError, PaislurmError
from ..exit_codes.codes import REFUSED
from ..folded_names import by_numbers
from ..state.changes import changed_options, memory_step, policy_at
from ..state.history import apply
from ..state.journal_records import Ended, Intent, Refused, Retry
from ..state.submit_environment import is_kept, kept_environment
from ..times import format_time
from ..view.reasons import reason
from .after import may_begin
from .attempt import (
    SETTLED_SECONDS,
    again_at,
    cancel_as_asked,
    is_settled,
    new_intent,
    prepare,
    refusal,
    submit_attempt,
)
from .claim import shown_name
from .job_site import JobSite
from .job_status import JobStatus
from .pace import Paces
from .poll import held_back, open_job, poll_jobs
from .transition import abandoned, attempt_end, while_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paislurm.backends.base import Backend

    from ..state.bad_nodes import BadNode
    from ..state.history import History
    from ..state.journal_records import Record
    from .facts import View
    from .pace import Members
    from .polling.shared_results import Ask, PollResult

REFUSED_SECONDS = 3600
"""Seconds for which a refused attempt is tried again: a limit of the site may be reached only for a while."""
CANCEL_SECONDS = 60
"""Seconds after which Slurm shows a cancelled job as ending, if it remembers the cancel."""
NO_ENVIRONMENT = "the environment and the secrets of its submit have been removed"
NEVER_WRITTEN = "its submit was interrupted"
FULL_HOUR = "the site's limit on retries per hour is reached (`retry.maxAttemptsPerHour`)"

UNKNOWN_SECONDS = 30 * 86400
"""A backend that does not know a job for a while may be another cluster's, or may have lost its state."""


class Ledger(Struct, frozen=True, kw_only=True):
    """Read and write the ledger of bad nodes: the nodes of a job's cluster, and those at fault for an end."""

    read: Callable[[History], Sequence[BadNode]]
    add: Callable[[History, Ended | Retry], None]


NO_LEDGER = Ledger(read=lambda _: (), add=lambda _known, _record: None)


class Dependencies(Struct, frozen=True, kw_only=True):
    """Hold the dependencies of a step.

    `holds_lock` tells whether this process may still act, and `owns` whether a job is the user's own: others' jobs
    are read only. `site_of` returns the site settings of a job. `ask` polls a backend, at once if it is None;
    `poll_at_most_every` returns a poll function for the monitor's loop that polls at most once in so many seconds.
    `new_shared_result` returns a backend's new answer to another process. `room_at` returns the time from which a job
    may submit one more attempt, in seconds since 1970. `ahead` returns how many seconds before its start a backend
    accepts an attempt. `members` yields the jobs of a group. `ledger` holds the
    user's bad nodes. `unreached` holds the last refusal of each unreachable backend: only one of the attempts due
    there is tried at a time.
    """

    backend: Callable[[str], Backend]
    clock: Callable[[], int]
    holds_lock: Callable[[], bool]
    owns: Callable[[View], bool]
    ask: Ask | None = None
    poll_at_most_every: Callable[[float], Ask] | None = None
    new_shared_result: Callable[[str], PollResult | None] = lambda _: None
    site_of: Callable[[History], JobSite] = lambda _: JobSite()
    room_at: Callable[[History], int] = lambda _: 0
    ahead: Callable[[str], int] = lambda _: 0
    members: Members = lambda _user, _group: ()
    unreached: dict[str, Refused] = field(default_factory=dict)
    ledger: Ledger = NO_LEDGER


def reconcile(
    jobs: Sequence[View], dependencies: Dependencies, ask: Ask | None = None, *, tasks: bool = True
) -> list[View]:
    """Run one step for the jobs. Return their views after it; `ask` and `tasks` as in `poll_jobs`."""
    views = poll_jobs(jobs, dependencies.backend, dependencies.clock(), ask or dependencies.ask, tasks=tasks)
    paces = Paces(views, dependencies.members)
    # Jobs that wait for a place get it in the order of their creation, and of their numbers.
    order = sorted(range(len(views)), key=lambda k: (views[k].history.created, by_numbers(views[k].folder.name)))
    for position in order:
        views[position] = paces.noted(_act(views[position], dependencies, paces))
    ended = -1
    while ended < (ended := sum(view.job_status.ended for view in views)):
        # The end of a job may end or start a job that waited for it, and so on.
        for position in order:
            if views[position].history.is_held_back:
                again = held_back(views[position], dependencies.clock())
                views[position] = paces.noted(_act(again, dependencies, paces))
    return views


def is_unknown(view: View) -> bool:
    """Return whether the backend has answered and has lost a job that left no result."""
    seen = "" if view.observation is None else view.observation.state
    return view.job_status.state == "UNKNOWN" and seen in ("", FORGOTTEN) and not view.backend_error


def needs_user(view: View) -> bool:
    """Return whether only its user can tell what becomes of an unknown job: its script may have begun."""
    return is_unknown(view) and not view.claimable


def _act(view: View, dependencies: Dependencies, paces: Paces) -> View:
    """Record what is new about a job, and act on it. Failed actions are repeated in the next step."""
    if _is_quiet(view) or not dependencies.owns(view) or not dependencies.holds_lock():
        return view
    try:
        view = paces.applied(view, dependencies.clock())
        view = record_news(view, dependencies.backend, dependencies.ledger)
        if needs_user(view) and dependencies.clock() - (view.history.submitted or view.history.asked) > UNKNOWN_SECONDS:
            # The backend has almost certainly lost the job, and its user may not return for long.
            view.folder.forget_secrets()
        view = _cancel_again(view, dependencies)
        ahead = dependencies.ahead(view.history.backend)
        away = dependencies.unreached.get(view.history.backend)
        now = dependencies.clock()
        view = held_up(view, now, dependencies.room_at, ahead, away)
        number = _submittable(view, now + ahead)
        return view if number is None else _submit(view, number, dependencies)
    except OSError as error:
        return replace(view, backend_error=f"{view.folder.path} cannot be written ({error.strerror or error})")
    except PaislurmError as error:
        return replace(view, backend_error=error.words)


def _is_quiet(view: View) -> bool:
    """Return whether nothing needs to be done for a job: it waits or runs as before and is not cancelled."""
    known = view.history
    alive = known.job_id and known.ended is None and known.retry is None and view.observation is not None
    return bool(alive) and not view.news and known.cancelled is None


def record_news(view: View, backend: Callable[[str], Backend], ledger: Ledger = NO_LEDGER) -> View:
    """Append new records. Raises OSError if the journal cannot be written; then no action may follow.

    A submit may be so slow that its job comes after all, or a job that Slurm has lost may still begin. So an attempt
    that never ran ends only with its claim. The path of a submit that was undone is free again: after a stall it may
    be another job's.
    """
    created = view.folder.created() if view.news else None
    if created is not None and created.happened_at != view.history.created:
        raise OSError(errno.ESTALE, "the folder is another job's now", str(view.folder.path))
    for record in view.news:
        known = view.history
        if _may_begin(view, record) and not view.folder.take_claim(known.attempt, SETTLED_SECONDS):
            return _after(replace(view, news=()), open_job(view.folder).history, "")
        if isinstance(record, Ended | Retry):
            # A step that is interrupted here adds them once more.
            ledger.add(known, record)
        view.folder.append(record)
        if isinstance(record, Ended):
            backend(view.history.backend).forget(view.history.run_folder(view.folder.path))
    return replace(view, news=())


def _may_begin(view: View, record: Record) -> bool:
    """Return whether a record ends an attempt that never ran, but whose script may still begin."""
    known = view.history
    if known.job_id:
        return isinstance(record, Ended | Retry) and view.never_began
    return isinstance(record, Ended) and bool(known.tag) and known.refused is None


def _cancel_again(view: View, dependencies: Dependencies) -> View:
    """Cancel an active job whose user cancelled it while it was unknown, or cancelled another attempt.

    A controller that is killed forgets a cancel of the last seconds too. Source: observed on 22.05 and 26.05.
    """
    seen, known = view.observation, view.history
    if seen is None or phase(seen.state) not in (Phase.PENDING, Phase.RUNNING):
        return view
    is_lost = known.cancelled is not None and view.polled_at - known.cancelled.happened_at > CANCEL_SECONDS
    return _cancel(view, dependencies, again=is_lost and known.backend != LOCAL)


def _cancel(view: View, dependencies: Dependencies, *, again: bool = False) -> View:
    known = view.history
    if known.cancelled is None:
        return view
    backend = dependencies.backend(known.backend)
    try:
        name = shown_name(known, view.observation)
        after = cancel_as_asked(view.folder, known, backend, dependencies.clock(), name=name, again=again)
    except BackendError as error:
        return replace(view, backend_error=error.words)
    return replace(view, history=after)


def _submittable(view: View, now: int) -> int | None:
    """Return the number of the attempt to submit, None if there is none; `now` may be in the future."""
    number = _due_attempt(view, now)
    return None if view.room_at is not None else number


def _due_attempt(view: View, now: int) -> int | None:
    """Return the number of the due attempt, None if there is none."""
    known = view.history
    if view.backend_error or known.ended is not None or known.cancelled is not None:
        return None
    if known.retry is not None:
        return known.attempt + 1 if now >= known.retry.retry_at else None
    if known.is_held_back:
        return 0 if view.has_place and may_begin(view.folder, known) else None
    if known.refused is not None:
        return known.attempt if now >= again_at(known, known.refused) else None
    may_submit = view.has_place and bool(known.attempt or known.first_tag)
    return known.attempt if may_submit and is_settled(known, view.polled_at) else None


def held_up(
    view: View, now: int, room_at: Callable[[History], int], ahead: int = 0, away: Refused | None = None
) -> View:
    """Return a view that explains why a due attempt waits: the hourly limit is reached, or Slurm is `away`.

    An attempt that is due in `ahead` seconds counts as due.
    """
    number = _due_attempt(view, now + ahead)
    if number is None:
        return view
    free_at, limit = room_at(view.history), FULL_HOUR
    if away is not None and away.retry_at > free_at:
        free_at, limit = away.retry_at, away.reason
    if free_at <= now:
        return view
    retry = view.history.retry
    last = f"; {attempt_end(retry)}" if retry is not None else ""
    why = reason("an attempt is held back", when=format_time(free_at), next=number, limit=limit, last=last)
    return replace(view, room_at=free_at, job_status=replace(view.job_status, why=why))


def _submit(view: View, number: int, dependencies: Dependencies) -> View:
    """Submit a new attempt, unless another process has, or the job was cancelled meanwhile."""
    folder, now = view.folder, dependencies.clock()
    before = open_job(folder).history
    if before.is_held_back and not folder.is_written():
        is_over = now - before.created > SETTLED_SECONDS
        return _given_up(view, before, now, number, NEVER_WRITTEN, dependencies) if is_over else view
    prepare(folder, number, changed_options(before.changes), memory_step(before.changes))
    if not dependencies.holds_lock():
        return view
    before = open_job(folder).history
    if before.cancelled is not None or (before.attempt, before.job_id) != (view.history.attempt, view.history.job_id):
        return view
    environment = kept_environment(folder.path)
    kept = not is_remote(before.backend) and is_kept(policy_at(before, 0), before.first_tag)
    if kept and environment is None:
        # It is removed before the end of a job is recorded, with the secrets, and the record may have failed.
        return _given_up(view, before, now, number, NO_ENVIRONMENT, dependencies)
    first = number == 0 and before.first_tag
    intent = Intent(happened_at=now, attempt=0, tag=first) if first else new_intent(number, now, before=before.tag)
    folder.append(intent)
    known = apply(before, [intent])
    if not dependencies.holds_lock():
        # Another process submits this attempt, once it is certain that this one has not.
        return view
    try:
        record, _ = submit_attempt(
            folder,
            known,
            dependencies.backend(known.backend),
            dependencies.clock,
            exclude=known.excluded_nodes(now, dependencies.ledger.read(known)),
            delay=before.retry.retry_at - now if before.retry is not None else 0,
            environment=environment,
        )
    except BackendError as error:
        if error.is_refusal:
            return _refused(view, before.refused, known, error, dependencies)
        return _after(view, open_job(folder).history, error.words)
    dependencies.unreached.pop(known.backend, None)
    # The id is known here even if it could not be recorded.
    known = replace(open_job(folder).history, job_id=record.job_id)
    return _cancel(_after(view, known, ""), dependencies)


def _after(view: View, known: History, backend_error: str) -> View:
    why = reason("an attempt was submitted" if known.job_id else "perhaps submitted", attempt=known.attempt)
    job_status = JobStatus.so_far("WAITING", why)
    return replace(
        view, history=known, job_status=job_status, observation=None, result=None, tasks=(), backend_error=backend_error
    )


def _refused(view: View, last: Refused | None, known: History, error: BackendError, dependencies: Dependencies) -> View:
    """End the job for a lasting refusal; for any other, submit again later, for a limited time."""
    now, unreached = dependencies.clock(), dependencies.unreached
    refused = refusal(error, known.attempt, now, last, unreached.pop(known.backend, None))
    if not refused.reached:
        unreached[known.backend] = refused
    if is_tried_again(known, refused, lasting=error.lasting):
        view.folder.append(refused)
        job_status, _ = while_refused(known, refused, now)
        return replace(_after(view, apply(known, [refused]), refused.reason), job_status=job_status)
    return _given_up(view, known, now, known.attempt, refused.reason, dependencies)


def _given_up(view: View, known: History, now: int, attempt: int, refusal: str, dependencies: Dependencies) -> View:
    """End a job whose next attempt cannot be submitted."""
    why = reason("an attempt cannot be submitted", attempt=attempt, refusal=refusal)
    end = abandoned(known, now, REFUSED, why)
    view.folder.append(end)
    dependencies.backend(known.backend).forget(known.run_folder(view.folder.path))
    return replace(view, history=apply(known, [end]), job_status=JobStatus.recorded(end), observation=None, tasks=())


def is_tried_again(known: History, refused: Refused, *, lasting: bool) -> bool:
    """Return whether a refused attempt is submitted again; `lasting` refusals are not.

    An unreachable backend, or a full one, is tried forever: a missing answer is never an end.
    """
    return not refused.reached or (refused.happened_at - known.first_asked < REFUSED_SECONDS and not lasting)
