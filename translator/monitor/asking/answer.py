"""What a backend said of jobs when it was asked: one question for all of them, one answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from paislurm.backends.base import JobId, Observation

from ...errors import PaislurmError, ThrottledError

if TYPE_CHECKING:
    from paislurm.backends.base import Backend


class Answer(Struct, frozen=True, kw_only=True):
    """Hold what a backend said; of a job or a tag that it was not asked for it said nothing.

    `time` is when it was asked, in seconds since 1970. `observations` are of the jobs of `asked` that it knows, `found`
    the jobs of tags, None where it knows none. `error` and `tag_error` are why it did not answer, "" where it did;
    `throttled` how often in turn that is because it was asked too often.
    """

    time: float
    asked: frozenset[JobId] = frozenset()
    observations: Mapping[JobId, Observation] = field(default_factory=dict)
    found: Mapping[str, JobId | None] = field(default_factory=dict)
    error: str = ""
    tag_error: str = ""
    throttled: Annotated[int, Meta(ge=0)] = 0


NOT_ASKED = Answer(time=0)
Ask: TypeAlias = Callable[[str, Collection[JobId], Collection[str]], Answer]
"""Asks the backend of a name for jobs by their ids, and for others by their tags."""


def ask_now(backend: Callable[[], Backend], ids: Collection[JobId], tags: Collection[str], time: float) -> Answer:
    """Ask a backend; a job that a tag finds is asked for, too. That it does not answer is an answer."""
    answer = Answer(time=time)
    try:
        known = backend().find(tags) if tags else {}
        answer = replace(answer, found={tag: known.get(tag) for tag in tags})
    except PaislurmError as error:
        answer = replace(answer, tag_error=error.words, throttled=int(isinstance(error, ThrottledError)))
    asked = frozenset(ids) | {job_id for job_id in answer.found.values() if job_id is not None}
    if not asked or answer.throttled:
        return replace(answer, error=answer.tag_error if answer.throttled else "")
    try:
        return replace(answer, asked=asked, observations=backend().observe(asked))
    except PaislurmError as error:
        return replace(answer, error=error.words, throttled=int(isinstance(error, ThrottledError)))


def asking(backend: Callable[[str], Backend], now: float) -> Ask:
    """Return what asks each backend whenever it is called."""
    return lambda name, ids, tags: ask_now(lambda: backend(name), ids, tags, now)
