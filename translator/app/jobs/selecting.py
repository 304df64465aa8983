"""Resolve the arguments JOB: names, `user~name`, ids, patterns and groups; default: the last job."""

from __future__ import annotations

from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ...errors import Diagnostic, NotFoundError, did_you_mean
from ...folded_names import by_numbers
from ...state.address import newest, parse
from ...state.job_folder import JobFolder, Living

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...state.job_folder import Store
    from ..session import Session


class Selected(NamedTuple):
    """The folders of the selected jobs, and the names of the jobs of each named group."""

    folders: list[JobFolder]
    groups: dict[str, list[str]]

    @property
    def names(self) -> list[str]:
        """The names of the folders."""
        return [folder.name for folder in self.folders]


PATTERN_CHARACTERS = frozenset("*?[")


def select(store: Store, words: Sequence[str], *, user: str, last: bool = False) -> list[JobFolder]:
    """Return the jobs of the words, each once, in the order of the words.

    Jobs of a pattern or a group are in the order of their names, `seed2` before `seed10`. Without a word, or with
    `last`, return the user's last job. Raises NotFoundError with every unknown word.
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


def is_pattern(word: str) -> bool:
    """Return whether a word is a shell pattern; no job's name contains such characters."""
    return not PATTERN_CHARACTERS.isdisjoint(word)


def last_job(store: Store, *, user: str) -> JobFolder:
    """Return the user's last job. Raises NotFoundError."""
    newest: tuple[int, int, str, str] | None = None
    for name, job in store.entries():
        if name.startswith(f"{user}~"):
            with suppress(OSError):
                known = job.read() if isinstance(job, Living) else job
                # Ids rise: the greater one is later in the same second.
                at = (known.submitted or known.created, len(known.job_id), known.job_id, name)
                newest = max(newest or at, at)
    if newest is None:
        message = f"{user} has no job in {store.jobs}"
        raise NotFoundError(Diagnostic(code="E520", message=message, hint="submit one: `paislurm submit job.yaml`"))
    return JobFolder(path=store.jobs / newest[-1])


def named_groups(store: Store, words: Sequence[str], *, user: str) -> dict[str, list[str]]:
    """Return the words that are the user's groups, each with the names of its jobs."""
    found = {word: _group(store, word, user=user) for word in words if not is_pattern(word)}
    return {word: [folder.name for folder in folders] for word, folders in found.items() if folders}


def _group(store: Store, word: str, *, user: str) -> list[JobFolder]:
    """Return the jobs of a group; none if the word is a job.

    If both have the name, the job counts, unless it has ended and the group was submitted later.
    """
    try:
        job = store.find(word, user=user)
    except NotFoundError:
        return jobs_of_group(store, word, user=user)
    # A group with the name of a job contains jobs whose names start with it.
    full_name = parse(job.name).name
    if not any(name.startswith(f"{full_name}-") for name in store.names()):
        return []
    with suppress(OSError):
        known = job.history()
        if known.ended is not None and full_name == f"{user}~{word}":
            group = jobs_of_group(store, word, user=user)
            return group if group and group[0].history().created >= known.created else []
    return []


def _named(store: Store, word: str, *, user: str) -> list[JobFolder]:
    """Return the jobs of the group, else the job with this name or id."""
    return _group(store, word, user=user) or [store.find(word, user=user, groups=partial(groups, store, user=user))]


def _matching(store: Store, pattern: str, *, user: str) -> list[JobFolder]:
    """Return the jobs whose name or `user~name` matches a pattern; only the user's own, unless it contains a `~`."""
    own = f"{user}~"
    found = [
        JobFolder(path=store.jobs / name)
        for name in sorted(store.names(), key=by_numbers)
        if fnmatchcase(name, pattern if "~" in pattern else own + pattern)
    ]
    if not found:
        message = f"no job in {store.jobs} matches `{pattern}`"
        raise NotFoundError(Diagnostic(code="E520", message=message, hint="`paislurm list` shows your jobs"))
    return found


def jobs_of_group(store: Store, group: str, *, user: str) -> list[JobFolder]:
    """Return the user's jobs of a group by name, `seed2` before `seed10`, of each name the newest."""
    found: list[JobFolder] = []
    latest = newest(store.names())
    for name, job in store.entries():
        if group and name.startswith(f"{user}~"):
            with suppress(OSError):
                known = job.read() if isinstance(job, Living) else job
                if known.group == group and latest.get(known.full_name) == name:
                    found.append(JobFolder(path=store.jobs / name))
    return sorted(found, key=lambda folder: by_numbers(folder.name))


def groups(store: Store, *, user: str) -> list[str]:
    """Return the names of the user's groups, sorted."""
    found: set[str] = set()
    for name, job in store.entries():
        if name.startswith(f"{user}~"):
            with suppress(OSError):
                found.add((job.read() if isinstance(job, Living) else job).group)
    return sorted(found - {""}, key=by_numbers)


def folders_of_group(session: Session, group: str) -> list[JobFolder]:
    """Return the user's jobs of a group, by name. Raises NotFoundError."""
    folders = jobs_of_group(session.store, group, user=session.user)
    if not folders:
        message = f"no group `{group}` in {session.store.jobs}"
        hint = (
            did_you_mean(group, groups(session.store, user=session.user)) or "`paislurm submit --sweep` creates a group"
        )
        raise NotFoundError(Diagnostic(code="E597", message=message, hint=hint))
    return folders
