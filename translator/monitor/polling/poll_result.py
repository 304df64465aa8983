"""The answer of a backend to a poll for all jobs of a user."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from paislurm.backends.base import JobId, Observation

from ...errors import PaislurmError, ThrottledError

if TYPE_CHECKING:
    from paislurm.backends.base import Backend


class PollResult(Struct, frozen=True, kw_only=True):
    """Hold a backend's answer; it covers only the jobs and tags of the poll.

    `time` is when the poll started, in seconds since 1970. `observations` are those of the jobs in `asked` that the
    backend knows, `found` the jobs of tags, None for an unknown tag. `error` and `tag_error` are the backend's
    errors, or "". `throttled` counts successive polls that the backend refused as too frequent.
    """

    time: float
    asked: frozenset[JobId] = frozenset()
    observations: Mapping[JobId, Observation] = field(default_factory=dict)
    found: Mapping[str, JobId | None] = field(default_factory=dict)
    error: str = ""
    tag_error: str = ""
    throttled: Annotated[int, Meta(ge=0)] = 0


NOT_ASKED = PollResult(time=0)
Ask: TypeAlias = Callable[[str, Collection[JobId], Collection[str]], PollResult]
"""Polls the named backend for jobs by id, and for others by tag."""


def ask_now(backend: Callable[[], Backend], ids: Collection[JobId], tags: Collection[str], time: float) -> PollResult:
    """Poll a backend for jobs, including those that a tag finds. An error is recorded in the answer."""
    answer = PollResult(time=time)
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
    """Return a function that polls each backend at once."""
    return lambda name, ids, tags: ask_now(lambda: backend(name), ids, tags, now)
