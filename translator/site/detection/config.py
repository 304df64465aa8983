"""What `scontrol show config` says of a cluster as a whole, and which ports that leaves to tasks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ..profile import Ports, Scheduler
from ..slurm_version import slurm_version
from .records import number, settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_PORTS = ("SlurmctldPort", "SlurmdPort", "AccountingStoragePort", "SrunPortRange")
_LOWEST, _HIGHEST = 10_000, 65_535
"""Below stand the known services of many programs."""
_FEWEST = 1000
BACKFILL_INTERVAL = 30
"""Source: slurm.conf(5), bf_interval."""
_INTERVAL = re.compile(r"(?:^|,)bf_interval=(-?\d{1,5})(?:,|$)")
_REQUIRES_TIME = "require_timelimit"
"""A plugin of Slurm's own that refuses jobs without a time limit. Source: slurm.conf(5), JobSubmitPlugins."""


class SlurmConfig(Struct, frozen=True, kw_only=True):
    """Hold what the profile takes of slurm.conf. `ports` are ranges that Slurm itself listens on, ends included."""

    name: str = ""
    version: str = ""
    mpi_default: str = ""
    kill_wait: int = 0
    has_accounting: bool = False
    enforced: frozenset[str] = frozenset()
    """What of the accounts decides whether a job is taken: `associations`, `limits`, `qos`."""
    requires_time: bool = False
    scheduler: Scheduler = field(default_factory=Scheduler)
    ports: tuple[tuple[int, int], ...] = ()


def slurm_config(text: str) -> SlurmConfig:
    """Read the answer. Source: slurm.conf(5)."""
    found = settings(text)
    storage = found.get("AccountingStorageType", "")
    ranges = (port_range(found.get(name, "")) for name in _PORTS)
    return SlurmConfig(
        name=found.get("ClusterName", ""),
        version=str(slurm_version(found.get("SLURM_VERSION", "")) or ""),
        mpi_default=found.get("MpiDefault", ""),
        kill_wait=number(found.get("KillWait", "")),
        has_accounting=bool(storage) and not storage.endswith("/none"),
        enforced=_enforced(found.get("AccountingStorageEnforce", "")),
        requires_time=_REQUIRES_TIME in found.get("JobSubmitPlugins", "").replace("job_submit/", "").split(","),
        scheduler=_scheduler(found),
        ports=tuple(each for each in ranges if each is not None),
    )


def _scheduler(found: Mapping[str, str]) -> Scheduler:
    """Return the scheduler; the interval that the site leaves out is Slurm's default."""
    kind = found.get("SchedulerType", "").rpartition("/")[2]
    if kind == "builtin":
        return Scheduler.of(type="builtin")
    if kind != "backfill":
        return Scheduler.of()
    given = _INTERVAL.search(found.get("SchedulerParameters", ""))
    return Scheduler.of(backfill_interval=max(-1, min(int(given[1]), 10800)) if given else BACKFILL_INTERVAL)


def _enforced(text: str) -> frozenset[str]:
    """Return what is enforced, with what that implies. Source: slurm.conf(5), AccountingStorageEnforce."""
    words = set(text.lower().split(","))
    limits = words & {"limits", "safe", "all"}
    qos = words & {"qos", "all"}
    found = {"limits"} if limits else set()
    found |= {"qos"} if qos else set()
    return frozenset(found | ({"associations"} if found or "associations" in words else set()))


def port_range(text: str) -> tuple[int, int] | None:
    """Return the range that `6817`, `60001-63000` or `32768 60999` means; None for `0-0` and for what is none."""
    numbers = [int(word) for word in re.findall(r"\d{1,5}", text, re.ASCII)]
    return (numbers[0], numbers[-1]) if numbers and numbers[-1] else None


def free_ports(taken: Iterable[tuple[int, int]]) -> Ports | None:
    """Return the usual range if none of it is taken, else the longest one that is free; None if that is short."""
    usual = Ports()
    free = list(_between(sorted(taken)))
    if any(first <= usual.first and usual.last <= last for first, last in free):
        return usual
    first, last = max(free, key=lambda each: each[1] - each[0], default=(0, 0))
    return Ports.of(first=first, last=last) if last - first >= _FEWEST else None


def _between(taken: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the ranges that are left, in order."""
    first = _LOWEST
    for start, end in (*taken, (_HIGHEST + 1, _HIGHEST + 1)):
        if first < start:
            yield first, min(start - 1, _HIGHEST)
        first = max(first, end + 1)
