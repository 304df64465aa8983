"""The bill: what was asked of Slurm for the user in the last day, and what that cost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec import Struct

from ..monitor.asking.bill import DAY, HOUR, MONITOR, costs, retry_times
from .input.sites import find_site

if TYPE_CHECKING:
    from .session import Session


class ProgramCost(Struct, frozen=True, kw_only=True):
    """What was asked of one program of Slurm."""

    program: str
    """The program of Slurm."""
    calls: int
    """How often it was called."""
    failed: int
    """How many of these calls failed."""
    cpu_seconds: float
    """CPU time of these calls."""


class SlurmBill(Struct, frozen=True, kw_only=True):
    """What was asked of Slurm for the user."""

    hours: int
    """How far back the bill goes."""
    programs: tuple[ProgramCost, ...]
    """What was asked of Slurm, for each program."""
    monitor_cpu_seconds: float
    """CPU time of the monitor itself."""
    retries_in_last_hour: int
    """How many retries of the user's jobs were submitted in the last hour."""
    max_attempts_per_hour: int
    """How many attempts of a user the site allows in an hour."""


def slurm_bill(session: Session, site: str | None = None) -> SlurmBill:
    """Return what all commands and monitors asked of Slurm for this user in the last 24 hours."""
    now = time.time()
    calls = session.bill.calls(now - DAY)
    found = costs(calls)
    return SlurmBill(
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
