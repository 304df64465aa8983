"""The user's calls to Slurm in the last day, and their CPU time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ..monitor.polling.call_log import DAY, HOUR, MONITOR, costs, retry_times
from .input.sites import find_site

if TYPE_CHECKING:
    from .session import Session


class ProgramCost(Struct, frozen=True, kw_only=True):
    """Calls of one program of Slurm."""

    program: str
    """The program of Slurm."""
    calls: int
    """The number of calls."""
    failed: int
    """The number of failed calls."""
    cpu_seconds: float
    """The CPU time of the calls."""


class SlurmCalls(Struct, frozen=True, kw_only=True):
    """The user's calls to Slurm."""

    hours: int
    """The hours that the counts cover."""
    programs: tuple[ProgramCost, ...]
    """The calls of each program of Slurm."""
    monitor_cpu_seconds: float
    """The CPU time of the monitor itself."""
    retries_in_last_hour: int
    """The number of retries of the user's jobs submitted in the last hour."""
    max_attempts_per_hour: int
    """The site's limit on a user's attempts in an hour."""


def slurm_calls(session: Session, site: str | None = None) -> SlurmCalls:
    """Return the calls to Slurm by all commands and monitors of this user in the last 24 hours."""
    now = session.clock()
    calls = session.call_log.calls(now - DAY)
    found = costs(calls)
    return SlurmCalls(
        hours=DAY // HOUR,
        programs=tuple(
            ProgramCost(program=each.program, calls=each.calls, failed=each.failed, cpu_seconds=round(each.cpu, 3))
            for each in found
            if each.program != MONITOR
        ),
        monitor_cpu_seconds=round(sum(each.cpu for each in found if each.program == MONITOR), 3),
        retries_in_last_hour=sum(when > now - HOUR for when in retry_times(calls)),
        max_attempts_per_hour=find_site(session, site).retry.max_attempts_per_hour,
    )
