"""Say which jobs the words of a command line mean: names, `user~name`, ids, patterns, groups; no word: the last job."""

from __future__ import annotations

from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import Diagnostic, NotFoundError, nearest
from ...folded_names import by_numbers
from ...state.job_folder import JobFolder, Living
from .groups import groups, jobs_of_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...state.job_folder import Store

PATTERN_CHARACTERS = frozenset("*?[")


def select(store: Store, words: Sequence[str], *, user: str, last: bool = False) -> list[JobFolder]:
    """Return the jobs that words mean, each once, in the order of the words.

    The jobs of a pattern or a group are in the order of their names, `seed2` before `seed10`. Without a word, or with
    `last`, it is the user's job that was submitted last. Raises `NotFoundError` that names every word that means
    nothing.
    """
    found: dict[str, JobFolder] = {}
    missing: list[Diagnostic] = []
    if last or not words:
        folder = last_job(store, user=user)
        found[folder.name] = folder
    for word in words:
        try:
            folders = _matching(store, word, user=user) if is_pattern(word) else _named(store, word, user=user)
        except NotFoundError as error:  # noqa: PERF203 - each word is told of
            missing.extend(error.diagnostics)
        else:
            found |= {folder.name: folder for folder in folders}
    if missing:
        raise NotFoundError(missing)
    return list(found.values())


def select_one(store: Store, word: str | None, *, user: str) -> JobFolder:
    """Return the job that a word means; without one, the user's job that was submitted last."""
    return last_job(store, user=user) if word is None else store.find(word, user=user)


def asks_for_several(words: Sequence[str], *, last: bool = False) -> bool:
    """Tell whether words can mean several jobs, however many there are: so programs know what they get."""
    return len(words) + last > 1 or any(map(is_pattern, words))


def is_pattern(word: str) -> bool:
    """Tell whether a word is a pattern as the shell has them: no job has such characters in its name."""
    return not PATTERN_CHARACTERS.isdisjoint(word)


def last_job(store: Store, *, user: str) -> JobFolder:
    """Return the user's job that was submitted last; `NotFoundError` if there is none."""
    newest: tuple[int, str] | None = None
    for name, job in store.look():
        if name.startswith(f"{user}~"):
            with suppress(OSError):
                known = job.read() if isinstance(job, Living) else job
                at = (known.submitted or known.created, name)
                newest = max(newest or at, at)
    if newest is None:
        message = f"there is no job of {user} in {store.jobs}"
        raise NotFoundError(Diagnostic(code="E520", message=message, hint="`paislurm submit job.yaml` makes one"))
    return JobFolder(path=store.jobs / newest[1])


def named_groups(store: Store, words: Sequence[str], *, user: str) -> dict[str, list[str]]:
    """Return the words that mean groups of the user's, each with the names of its jobs."""
    found = {word: _group(store, word, user=user) for word in words if not is_pattern(word)}
    return {word: [folder.name for folder in folders] for word, folders in found.items() if folders}


def _group(store: Store, word: str, *, user: str) -> list[JobFolder]:
    """Return the jobs of the group that a word means; none where it means a job.

    A job's name means the job, unless that has ended and the group was submitted later.
    """
    try:
        job = store.find(word, user=user)
    except NotFoundError:
        return jobs_of_group(store, word, user=user)
    # Jobs of a group that can have a job's name are called after it.
    if not any(name.startswith(f"{job.name}-") for name in store.names()):
        return []
    with suppress(OSError):
        known = job.history()
        if known.ended is not None and job.name == f"{user}~{word}":
            group = jobs_of_group(store, word, user=user)
            return group if group and group[0].history().created >= known.created else []
    return []


def _named(store: Store, word: str, *, user: str) -> list[JobFolder]:
    """Return the jobs of the group that a word means, else the job of a name or an id."""
    group = _group(store, word, user=user)
    try:
        return group or [store.find(word, user=user)]
    except NotFoundError as error:
        raise _with_near_group(error, nearest(word, groups(store, user=user))) from None


def _with_near_group(error: NotFoundError, near: str) -> NotFoundError:
    """Return the error for a word that means nothing, with the name of a group that is near, "" for none."""
    if not near:
        return error
    asks = "did you mean "
    told = [
        replace(
            each,
            hint=f"{each.hint[:-1]} or the group `{near}`?"
            if each.hint.startswith(asks)
            else f"{asks}the group `{near}`?",
        )
        for each in error.diagnostics
    ]
    return NotFoundError(told)


def _matching(store: Store, pattern: str, *, user: str) -> list[JobFolder]:
    """Return the jobs whose name, or `user~name`, fits a pattern; the user's own only, unless it has a `~`."""
    own = f"{user}~"
    found = [
        JobFolder(path=store.jobs / name)
        for name in sorted(store.names(), key=by_numbers)
        if fnmatchcase(name, pattern if "~" in pattern else own + pattern)
    ]
    if not found:
        message = f"no job in {store.jobs} has a name that fits `{pattern}`"
        raise NotFoundError(Diagnostic(code="E520", message=message, hint="`paislurm list` shows your jobs"))
    return found
