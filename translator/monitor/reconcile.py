"""One step of the monitor: look at jobs, write down what is new, submit the attempts that are due.

Only one step at a time is taken for a user (`lock`). Whatever interrupts it, the next one goes on where it stopped:
every effect is written down before it is begun, can be looked up by its tag, and is harmless if it comes twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paislurm.backends.base import JobId
from paislurm.backends.slurm.states import Phase, phase

from ..errors import BackendError, PaislurmError, RejectedError
from ..state.history import advanced
from ..state.publish import discard
from ..state.records import Cancelled, Retry
from .attempt import new_intent, prepare, settled, submit_attempt
from .job_status import Standing
from .poll import open_job, survey
from .transition import given_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paislurm.backends.base import Backend

    from ..state.history import History
    from ..state.records import Record
    from .poll import Opened, View

REFUSED_SECONDS = 3600
"""For so long a fresh attempt that the backend refuses is tried again: a limit of the site may be reached just now."""
REFUSED = -200
LOST_NODES = (-1001, -1006)
"""Codes for which the backend knows better than the script which node is to blame."""


FORGOTTEN_SECONDS = 30 * 86400
"""A backend that does not know a job for a while may be another cluster's, or one that has lost its state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Hold what a step works with.

    `held` tells whether this process is still the one that may act, and `own` whether a job is the user's: others'
    are looked at and left alone.
    """

    backend: Callable[[str], Backend]
    clock: Callable[[], int]
    held: Callable[[], bool]
    own: Callable[[View], bool]


def step(jobs: Sequence[Opened], means: Means, *, tasks: bool = True) -> list[View]:
    """Take one step with the jobs, and return how they stand after it; `tasks` as in `survey`."""
    return [_act(view, means) for view in survey(jobs, means.backend, means.clock(), tasks=tasks)]


def is_unknown(view: View) -> bool:
    """Tell whether the backend, which has answered, knows nothing any more of a job that left no result."""
    return view.standing.state == "UNKNOWN" and view.observation is None and not view.problem


def _act(view: View, means: Means) -> View:
    """Write down what is new about a job, and do what follows from it; what cannot be done now is tried again."""
    if not means.own(view) or not means.held():
        return view
    try:
        view = _write_down(view, means)
        if is_unknown(view) and means.clock() - (view.history.submitted or view.history.asked) > FORGOTTEN_SECONDS:
            # It will hardly be known again, and its user may not look for long.
            discard(view.folder.secrets)
        view = _cancel_again(view, means)
        number = _due(view, means.clock())
        return view if number is None else _submit(view, number, means)
    except OSError as error:
        return replace(view, problem=f"{view.folder.path} cannot be written ({error.strerror or error})")
    except PaislurmError as error:
        return replace(view, problem="; ".join(fault.message for fault in error.faults))


def _write_down(view: View, means: Means) -> View:
    """Append what is new; OSError if the journal cannot be written, and then nothing may follow from it."""
    news = tuple(_blamed(view, record, means) for record in view.news)
    for record in news:
        view.folder.append(record)
    return replace(view, news=())


def _blamed(view: View, record: Record, means: Means) -> Record:
    """Return the record of a retry with the nodes that were lost: the backend knows which are out of order."""
    seen = view.observation
    if not isinstance(record, Retry) or record.code not in LOST_NODES or seen is None or not seen.nodes:
        return record
    try:
        lost = means.backend(view.history.backend).lost_nodes(seen.nodes)
    except BackendError:
        lost = {}
    return replace(record, nodes=tuple(dict.fromkeys((*record.nodes, *lost))))


def _cancel_again(view: View, means: Means) -> View:
    """Cancel a living job that its user wanted ended while it was not known, or was another attempt's."""
    known, seen = view.history, view.observation
    wanted = known.cancelled
    if wanted is None or seen is None or wanted.job_id == known.job_id:
        return view
    if phase(seen.state) not in (Phase.PENDING, Phase.RUNNING):
        return view
    return _cancel(view, wanted, means)


def _cancel(view: View, wanted: Cancelled, means: Means) -> View:
    known = view.history
    try:
        means.backend(known.backend).cancel(JobId(known.job_id))
    except BackendError as error:
        return replace(view, problem="; ".join(fault.message for fault in error.faults))
    asked = replace(wanted, time=means.clock(), attempt=known.attempt, job_id=known.job_id)
    view.folder.append(asked)
    return replace(view, history=advanced(known, [asked]))


def _due(view: View, now: int) -> int | None:
    """Return the number of the attempt that is to be submitted now, None for none."""
    known = view.history
    if view.problem or known.ended is not None or known.cancelled is not None:
        return None
    if known.retry is not None:
        return known.attempt + 1 if now >= known.retry.due else None
    return known.attempt if known.attempt and settled(known, now) else None


def _submit(view: View, number: int, means: Means) -> View:
    """Submit a fresh attempt, unless somebody else has, or it has been cancelled meanwhile."""
    folder, now = view.folder, means.clock()
    prepare(folder, number)
    if not means.held():
        return view
    before = open_job(folder).history
    if before.cancelled is not None or (before.attempt, before.job_id) != (view.history.attempt, view.history.job_id):
        return view
    intent = new_intent(number, now, before=before.tag)
    folder.append(intent)
    known = advanced(before, [intent])
    try:
        submit_attempt(folder, known, means.backend(known.backend), means.clock, exclude=known.left_out(now))
    except RejectedError as error:
        return _refused(view, known, error, means)
    except BackendError as error:
        return _after(view, open_job(folder).history, "; ".join(fault.message for fault in error.faults))
    after = _after(view, open_job(folder).history, "")
    wanted = after.history.cancelled
    return after if wanted is None or not after.history.job_id else _cancel(after, wanted, means)


def _after(view: View, known: History, problem: str) -> View:
    reason = f"attempt {known.attempt} has been submitted" if known.job_id else "it is not known whether it was taken"
    standing = Standing(state="WAITING", code=None, reason=reason, ended=False)
    return replace(view, history=known, standing=standing, observation=None, result=None, tasks=(), problem=problem)


def _refused(view: View, known: History, error: BackendError, means: Means) -> View:
    """Give up after a time; until then the attempt is tried again as one that was never taken."""
    words = "; ".join(fault.message for fault in error.faults)
    now = means.clock()
    if not known.retries or now - known.retries[-1].due < REFUSED_SECONDS:
        return _after(view, known, words)
    end = given_up(known, now, REFUSED, f"attempt {known.attempt} cannot be submitted: {words}")
    view.folder.append(end)
    standing = Standing(state="FAILED", code=REFUSED, reason=end.reason, ended=True)
    return replace(view, history=advanced(known, [end]), standing=standing, observation=None, tasks=())
