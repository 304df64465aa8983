"""What `scontrol show config` says of a cluster as a whole, and which ports that leaves to tasks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ..profile import Ports, Scheduler
from ..slurm_version import slurm_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


_SETTING = re.compile(r"^(\S+) += ?(.*)$", re.MULTILINE)
_KEY = re.compile(r"(?:^|\s)([A-Za-z_]\w*)=")
NOTHING = ("", "(null)", "N/A")


def settings(text: str) -> dict[str, str]:
    """Return the settings of `scontrol show config`; of a name that comes again, in a section below, the first."""
    found: dict[str, str] = {}
    for name, value in _SETTING.findall(text):
        found.setdefault(name, "" if value.strip() in NOTHING else value.strip())
    return found


def records(text: str, first: str) -> list[dict[str, str]]:
    """Return the fields of each line of `scontrol --oneliner` that begins with the field `first`.

    A value ends where the next field begins, because some have blanks in them (`OS`, `Reason`). Of a field that comes
    again, which can only be part of such a value, the first counts; so it does of a line that is about the same thing.
    """
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if line.startswith(f"{first}="):
            fields = _fields(line)
            found.setdefault(fields[first], fields)
    return list(found.values())


def _fields(line: str) -> dict[str, str]:
    keys = list(_KEY.finditer(line))
    ends = [key.start() for key in keys[1:]] + [len(line)]
    found: dict[str, str] = {}
    for key, end in zip(keys, ends, strict=True):
        value = line[key.end() : end].strip()
        found.setdefault(key[1], "" if value in NOTHING else value)
    return found


def number(text: str) -> int:
    """Return the whole number that a text begins with, 0 where there is none: `5 sec`, `UNLIMITED`."""
    found = re.match(r"\d{1,15}", text, re.ASCII)
    return int(found[0]) if found else 0


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


_PLUGIN = re.compile(r"[a-z0-9_.]{1,32}")
_VERSIONS = re.compile(r"plugin versions available: *(.+)")
_PREFERRED = ("pmix", "pmi2")
_NONE = "none"


def mpi_plugins(text: str, default: str) -> tuple[str, ...]:
    """Return the plugins of `srun --mpi=list`, the usual one first: Slurm's default, else pmix, else pmi2.

    The list is a word a line, and versions of one in a line of their own. srun before 22.05 has `srun: ` before each.
    """
    words = [line.removeprefix("srun: ").strip() for line in text.splitlines()]
    words += [word.strip() for line in _VERSIONS.findall(text) for word in line.split(",")]
    found = [word for word in dict.fromkeys(words) if _PLUGIN.fullmatch(word) and word != _NONE]
    order = (default, *_PREFERRED)
    return tuple(sorted(found, key=lambda word: order.index(word) if word in order else len(order)))
