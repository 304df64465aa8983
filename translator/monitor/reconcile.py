"""One step of the monitor: look at jobs, write down what is new, submit the attempts that are due.

Only one step at a time is taken for a user (`lock`). Whatever interrupts it, the next one goes on where it stopped:
every effect is written down before it is begun, can be looked up by its tag, and is harmless if it comes twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.backends.slurm.states import Phase, phase

from ..errors import BackendError, PaislurmError
from ..state.changes import changed_options
from ..state.history import apply
from ..state.publish import remove
from ..state.records import Cancelled, Ended, Intent, Refused
from ..state.submit_environment import forget_environment
from .after import may_begin
from .attempt import again_at, is_settled, new_intent, prepare, refusal, submit_attempt
from .job_site import JobSite
from .job_status import DueAttempt, JobStatus
from .poll import held_back, open_job, poll_jobs
from .transition import abandoned, attempt_text, while_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paislurm.backends.base import Backend

    from ..state.history import History
    from .asking.answer import Answer, Ask
    from .poll import Opened, View

REFUSED_SECONDS = 3600
"""For so long a fresh attempt that the backend refuses is tried again: a limit of the site may be reached just now."""
REFUSED = -200
FULL_HOUR = "as many retries were submitted in the last hour as the site allows (`retry.maxAttemptsPerHour`)"

UNKNOWN_SECONDS = 30 * 86400
"""A backend that does not know a job for a while may be another cluster's, or one that has lost its state."""


class Dependencies(Struct, frozen=True, kw_only=True):
    """Hold what a step works with.

    `holds_lock` tells whether this process is still the one that may act, and `owns` whether a job is the user's:
    others' are looked at and left alone. `site_of` returns the site of a job. `ask` polls a backend, at once where it
    is None; `seldom` returns what does so for the monitor's loop, at most once in so many seconds. `overheard` returns
    what a backend has answered to another process since. `room_at` tells from when on a job may be given one more
    attempt, in seconds since 1970. `ahead` tells how many seconds before its time a backend takes an attempt, and
    begins it then. `unreached` has the last refusal of each backend that could not be reached: of all attempts that
    are due there, one at a time is tried.
    """

    backend: Callable[[str], Backend]
    clock: Callable[[], int]
    holds_lock: Callable[[], bool]
    owns: Callable[[View], bool]
    ask: Ask | None = None
    seldom: Callable[[float], Ask] | None = None
    overheard: Callable[[str], Answer | None] = lambda _: None
    site_of: Callable[[History], JobSite] = lambda _: JobSite()
    room_at: Callable[[History], int] = lambda _: 0
    ahead: Callable[[str], int] = lambda _: 0
    unreached: dict[str, Refused] = field(default_factory=dict)


def reconcile(
    jobs: Sequence[Opened], dependencies: Dependencies, ask: Ask | None = None, *, tasks: bool = True
) -> list[View]:
    """Take one step with the jobs, and return how they stand after it; `ask` and `tasks` as in `poll_jobs`."""
    views = poll_jobs(jobs, dependencies.backend, dependencies.clock(), ask or dependencies.ask, tasks=tasks)
    views = [_act(view, dependencies) for view in views]
    ended = -1
    while ended < (ended := sum(view.job_status.ended for view in views)):
        # What has ended in this step was awaited by others, and where they end by that, by others again.
        views = [_look_again(view, dependencies) if view.history.is_held_back else view for view in views]
    return views


def _look_again(view: View, dependencies: Dependencies) -> View:
    return _act(held_back(view.folder, view.history, dependencies.clock(), view.read_errors), dependencies)


def is_unknown(view: View) -> bool:
    """Tell whether the backend, which has answered, knows nothing any more of a job that left no result."""
    return view.job_status.state == "UNKNOWN" and view.observation is None and not view.backend_error


def _act(view: View, dependencies: Dependencies) -> View:
    """Write down what is new about a job, and do what follows from it; what cannot be done now is tried again."""
    if _is_quiet(view) or not dependencies.owns(view) or not dependencies.holds_lock():
        return view
    try:
        view = _write_down(view, dependencies)
        if is_unknown(view) and dependencies.clock() - (view.history.submitted or view.history.asked) > UNKNOWN_SECONDS:
            # It will hardly be known again, and its user may not look for long.
            remove(view.folder.secrets)
            forget_environment(view.folder.path)
        view = _cancel_again(view, dependencies)
        ahead = dependencies.ahead(view.history.backend)
        away = dependencies.unreached.get(view.history.backend)
        view = held_up(view, dependencies.clock(), dependencies.room_at, ahead, away)
        number = _due(view, dependencies.clock() + ahead)
        return view if number is None else _submit(view, number, dependencies)
    except OSError as error:
        return replace(view, backend_error=f"{view.folder.path} cannot be written ({error.strerror or error})")
    except PaislurmError as error:
        return replace(view, backend_error=error.words)


def _is_quiet(view: View) -> bool:
    """Tell whether there is nothing to do about a job: it waits or runs as before, and nobody wants its end."""
    known = view.history
    alive = known.job_id and known.ended is None and known.retry is None and view.observation is not None
    return bool(alive) and not view.news and known.cancelled is None


def _write_down(view: View, dependencies: Dependencies) -> View:
    """Append what is new; OSError if the journal cannot be written, and then nothing may follow from it."""
    for record in view.news:
        view.folder.append(record)
        if isinstance(record, Ended):
            dependencies.backend(view.history.backend).forget(view.history.run_folder(view.folder.path))
    return replace(view, news=())


def _cancel_again(view: View, dependencies: Dependencies) -> View:
    """Cancel a living job that its user wanted ended while it was not known, or was another attempt's."""
    known, seen = view.history, view.observation
    wanted = known.cancelled
    if wanted is None or seen is None or wanted.job_id == known.job_id:
        return view
    if phase(seen.state) not in (Phase.PENDING, Phase.RUNNING):
        return view
    return _cancel(view, wanted, dependencies)


def _cancel(view: View, wanted: Cancelled, dependencies: Dependencies) -> View:
    known = view.history
    try:
        dependencies.backend(known.backend).cancel(JobId(known.job_id))
    except BackendError as error:
        return replace(view, backend_error=error.words)
    asked = replace(wanted, happened_at=dependencies.clock(), attempt=known.attempt, job_id=known.job_id)
    view.folder.append(asked)
    return replace(view, history=apply(known, [asked]))


def _due(view: View, now: int) -> int | None:
    """Return the number of the attempt that is to be submitted, None for none; `now` may be a time to come."""
    number = _next(view, now)
    return None if view.room_at is not None else number


def _next(view: View, now: int) -> int | None:
    """Return the number of the attempt that is due, None for none."""
    known = view.history
    if view.backend_error or known.ended is not None or known.cancelled is not None:
        return None
    if known.retry is not None:
        return known.attempt + 1 if now >= known.retry.retry_at else None
    if known.is_held_back:
        return 0 if may_begin(view.folder, known) else None
    if known.refused is not None:
        return known.attempt if now >= again_at(known, known.refused) else None
    return known.attempt if (known.attempt or known.first_tag) and is_settled(known, view.heard) else None


def held_up(
    view: View, now: int, room_at: Callable[[History], int], ahead: int = 0, away: Refused | None = None
) -> View:
    """Say why an attempt that is due has to wait: the user's attempts of this hour are used up, or Slurm is `away`.

    An attempt that is due in `ahead` seconds counts as due.
    """
    number = _next(view, now + ahead)
    if number is None:
        return view
    room, why = room_at(view.history), FULL_HOUR
    if away is not None and away.retry_at > room:
        room, why = away.retry_at, away.reason
    if room <= now:
        return view
    retry = view.history.retry
    before = attempt_text(retry) if retry is not None else ""
    due = DueAttempt(number=number, seconds=room - now, held_back=why, before=before)
    return replace(view, room_at=room, job_status=replace(view.job_status, reason=due.text, due=due))


def _submit(view: View, number: int, dependencies: Dependencies) -> View:
    """Submit a fresh attempt, unless somebody else has, or it has been cancelled meanwhile."""
    folder, now = view.folder, dependencies.clock()
    before = open_job(folder).history
    prepare(folder, number, changed_options(before.changes))
    if not dependencies.holds_lock():
        return view
    before = open_job(folder).history
    if before.cancelled is not None or (before.attempt, before.job_id) != (view.history.attempt, view.history.job_id):
        return view
    first = number == 0 and before.first_tag
    intent = Intent(happened_at=now, attempt=0, tag=first) if first else new_intent(number, now, before=before.tag)
    folder.append(intent)
    known = apply(before, [intent])
    try:
        submit_attempt(
            folder,
            known,
            dependencies.backend(known.backend),
            dependencies.clock,
            exclude=known.excluded_nodes(now),
            delay=before.retry.retry_at - now if before.retry is not None else 0,
        )
    except BackendError as error:
        if error.is_refusal:
            return _refused(view, before.refused, known, error, dependencies)
        return _after(view, open_job(folder).history, error.words)
    dependencies.unreached.pop(known.backend, None)
    after = _after(view, open_job(folder).history, "")
    wanted = after.history.cancelled
    return after if wanted is None or not after.history.job_id else _cancel(after, wanted, dependencies)


def _after(view: View, known: History, backend_error: str) -> View:
    reason = f"attempt {known.attempt} has been submitted" if known.job_id else "it is not known whether it was taken"
    job_status = JobStatus(state="WAITING", code=None, reason=reason, ended=False)
    return replace(
        view, history=known, job_status=job_status, observation=None, result=None, tasks=(), backend_error=backend_error
    )


def _refused(view: View, last: Refused | None, known: History, error: BackendError, dependencies: Dependencies) -> View:
    """Give up at once what will not be taken later either, anything else after a time; until then it is tried again.

    A backend that cannot be reached is tried again for ever: no answer is never an end.
    """
    now, unreached = dependencies.clock(), dependencies.unreached
    refused = refusal(error, known.attempt, now, last, unreached.pop(known.backend, None))
    if not refused.reached:
        unreached[known.backend] = refused
    if not refused.reached or (now - known.first_asked < REFUSED_SECONDS and not error.lasting):
        view.folder.append(refused)
        job_status, _ = while_refused(known, refused, now)
        return replace(_after(view, apply(known, [refused]), refused.reason), job_status=job_status)
    end = abandoned(known, now, REFUSED, f"attempt {known.attempt} cannot be submitted: {refused.reason}")
    view.folder.append(end)
    dependencies.backend(known.backend).forget(known.run_folder(view.folder.path))
    job_status = JobStatus(state="FAILED", code=REFUSED, reason=end.reason, ended=True)
    return replace(view, history=apply(known, [end]), job_status=job_status, observation=None, tasks=())
