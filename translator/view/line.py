"""A job on one line, for `list` and `watch`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct, field

from ..plural import counted, verb
from ..times import Time, elapsed_seconds, seconds_since_1970
from .states import State, state_text


class JobLine(Struct, frozen=True, kw_only=True):
    """The state of a job, without values that take long to compute."""

    name: str
    """The name of the job's folder, `user~job`."""
    job: str | None
    """The job's name, without the user's."""
    user: str | None
    """The user who owns the job."""
    state: State
    """The job status."""
    exit_code: int | None
    """OpenPAI's exit code of the job; None while it has none."""
    reason: str | None
    """The reason of the job status, in a sentence."""
    ended: bool
    """Whether the job status is final."""
    attempt: int
    """The number of the last attempt of the job, from 0."""
    retries: int | None
    """The number of retries; None for an ended job in `list` and `watch`."""
    backend: str | None
    """`slurm`, `pyslurm`, `local`, or `ssh:` and a login node."""
    job_id: str | None
    """The id of the last attempt's Slurm job; None while it has none."""
    accepted: bool | None = None
    """Whether the backend has accepted the last attempt, or else it waits here; None if it is unknown."""
    created_at: Time | None
    """When the first attempt was submitted."""
    submitted_at: Time | None
    """When the last attempt was submitted."""
    started_at: Time | None
    """When the nodes of the last attempt were allocated, even if no task has started yet."""
    ended_at: Time | None
    """When the job ended."""
    expected_start_at: Time | None = None
    """When Slurm expects to start the waiting job."""
    virtual_cluster: str | None
    """The virtual cluster."""
    partition: str | None
    """The partition that Slurm shows, or else that of the job file or the site profile; None if unknown."""
    node_list: str | None = None
    """The nodes of the last attempt in Slurm's notation, `n[1-3,7]`."""
    folder: str
    """The path of the job's folder."""
    task_count: int
    """The number of tasks."""
    completed: int | None
    """The number of tasks that ended by themselves; None if unknown."""
    time_limit: int | None = None
    """The time limit in seconds; None if unlimited or unknown, and for a job that has ended."""
    waits_began_at: Time | None = None
    """When the journal recorded the reason to wait."""
    advice: str | None = None
    """Advice for a waiting job."""
    group: str | None = None
    """The name of the job's sweep."""
    sweep: Mapping[str, str] = field(default_factory=dict)
    """The values of the sweep's parameters, by name."""
    parameters: Mapping[str, str] | None = None
    """The parameters in effect, by name; only `list` and `status` set them."""
    result: float | None = None
    """The number in the logs that matches `extras.slurm.result`; None without one. Only `list` sets it."""
    size_bytes: int | None = None
    """The disk usage of the job's folder in bytes; only `list` sets it, for its column `size`."""
    readable: bool = True
    """Whether the journal is readable; if not, `reason` says why, and the other values are unknown."""

    @property
    def succeeded(self) -> bool:
        """Whether the job has ended and succeeded."""
        return self.state == "SUCCEEDED"

    @property
    def state_text(self) -> str:
        """The state; of a failed or stopped job, with the exit code and OpenPAI's name of that code."""
        return state_text(self.state, self.exit_code)

    @property
    def sentence(self) -> str:
        """The name, the state and the reason, in a sentence."""
        return f"{self.name} {self.state_text}" + (f": {self.reason}" if self.reason else "")

    @property
    def begun_at(self) -> int:
        """When the last attempt was submitted, or else the job was created, in seconds since 1970; 0 if unknown."""
        return seconds_since_1970(self.submitted_at or self.created_at) or 0

    def elapsed(self, now: int) -> int | None:
        """Return how many seconds the last attempt has run; None if it has not started.

        A job with allocated nodes waits until its first task starts.
        """
        since = None if self.state == "WAITING" else seconds_since_1970(self.started_at)
        return elapsed_seconds(since, seconds_since_1970(self.ended_at), now)


class Listing(Struct, frozen=True, kw_only=True):
    """The jobs of a list."""

    jobs: tuple[JobLine, ...]
    """The jobs, the newest first; jobs of a sweep are sorted by parameter values."""
    group: str | None = None
    """The name of the sweep, if these are its jobs."""
    waiting_here: str | None = None
    """How many jobs of the sweep wait here, not at the backend, and why; None for none."""


class Reason(NamedTuple):
    """The reason for the state of one or more jobs, and their names."""

    state: str
    text: str
    names: tuple[str, ...]


def waiting_here(jobs: Iterable[JobLine]) -> str:
    """Return how many jobs wait here, not at the backend, and why most of them do; "" for none."""
    reasons = by_reason(
        (job.name, job.state, job.reason or "") for job in jobs if job.accepted is False and not job.ended
    )
    count = sum(len(reason.names) for reason in reasons)
    return f"{counted(count, 'job')} {verb(count, 'waits', 'wait')} here: {reasons[0].text}" if reasons else ""


def by_reason(jobs: Iterable[tuple[str, str, str]]) -> list[Reason]:
    """Group jobs, as (name, state, reason), by state and reason; return the largest group first."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, state, text in jobs:
        found.setdefault((state, text), []).append(name)
    reasons = [Reason(state, text, tuple(names)) for (state, text), names in found.items()]
    return sorted(reasons, key=lambda reason: -len(reason.names))
