"""Parsing of `scontrol show config`, and the free ports that result."""

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
    """Return the settings of `scontrol show config`; of repeated names in later sections the first."""
    found: dict[str, str] = {}
    for name, value in _SETTING.findall(text):
        found.setdefault(name, "" if value.strip() in NOTHING else value.strip())
    return found


def records(text: str, first: str) -> list[dict[str, str]]:
    """Return the fields of each line of `scontrol --oneliner` that starts with the field `first`.

    A value ends at the next field, because some contain blanks (`OS`, `Reason`). A repeated field can only be part of
    such a value, so the first one counts; of two lines about the same object, too.
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
    """Return the whole number at the start of a text, 0 if there is none: `5 sec`, `UNLIMITED`."""
    found = re.match(r"\d{1,15}", text, re.ASCII)
    return int(found[0]) if found else 0


_PORTS = ("SlurmctldPort", "SlurmdPort", "AccountingStoragePort", "SrunPortRange")
_LOWEST, _HIGHEST = 10_000, 65_535
"""Many well-known services use lower ports."""
_FEWEST = 1000
BACKFILL_INTERVAL = 30
"""Source: slurm.conf(5), bf_interval."""
_INTERVAL = re.compile(r"(?:^|,)bf_interval=(-?\d{1,5})(?:,|$)")
_EXPEDITES, _SINCE = "enable_expedited_requeue", (25, 11, 0)
"""The parameter of slurmctld that allows `sbatch --requeue=expedite`, and its first version. Source: Slurm, NEWS."""
_REQUIRES_TIME = "require_timelimit"
"""A plugin of Slurm that refuses jobs without a time limit. Source: slurm.conf(5), JobSubmitPlugins."""


class SlurmConfig(Struct, frozen=True, kw_only=True):
    """The settings of slurm.conf for the profile. `ports` are ranges on which Slurm listens, ends included.

    `memory_limits` as `memory_limits` returns them.
    """

    name: str = ""
    version: str = ""
    mpi_default: str = ""
    kill_wait: int = 0
    memory_limits: tuple[int, int] = (0, 0)
    has_accounting: bool = False
    enforced: frozenset[str] = frozenset()
    """The associations that Slurm enforces at submission: `associations`, `limits`, `qos`."""
    requires_time: bool = False
    scheduler: Scheduler = field(default_factory=Scheduler)
    ports: tuple[tuple[int, int], ...] = ()


def slurm_config(text: str) -> SlurmConfig:
    """Parse the output. Source: slurm.conf(5)."""
    found = settings(text)
    storage = found.get("AccountingStorageType", "")
    ranges = (port_range(found.get(name, "")) for name in _PORTS)
    return SlurmConfig(
        name=found.get("ClusterName", ""),
        version=str(slurm_version(found.get("SLURM_VERSION", "")) or ""),
        mpi_default=found.get("MpiDefault", ""),
        kill_wait=number(found.get("KillWait", "")),
        memory_limits=memory_limits(found),
        has_accounting=bool(storage) and not storage.endswith("/none"),
        enforced=_enforced(found.get("AccountingStorageEnforce", "")),
        requires_time=_REQUIRES_TIME in found.get("JobSubmitPlugins", "").replace("job_submit/", "").split(","),
        scheduler=_scheduler(found),
        ports=tuple(each for each in ranges if each is not None),
    )


def memory_limits(found: Mapping[str, str]) -> tuple[int, int]:
    """Return the most memory in MiB for a job on a node, and for each of its CPUs; 0 means no bound.

    Source: slurm.conf(5), MaxMemPerNode and MaxMemPerCPU: one of them counts, that of the partition first.
    """
    return number(found.get("MaxMemPerNode", "")), number(found.get("MaxMemPerCPU", ""))


def _scheduler(found: Mapping[str, str]) -> Scheduler:
    """Return the scheduler; a missing interval is Slurm's default."""
    kind = found.get("SchedulerType", "").rpartition("/")[2]
    version = slurm_version(found.get("SLURM_VERSION", ""))
    can_expedite = version is not None and version >= _SINCE
    keys: dict[str, object] = {}
    if can_expedite and _EXPEDITES in found.get("SlurmctldParameters", "").split(","):
        keys["expedited_requeue"] = True
    if kind == "builtin":
        keys["type"] = "builtin"
    elif kind == "backfill":
        given = _INTERVAL.search(found.get("SchedulerParameters", ""))
        keys["backfill_interval"] = max(-1, min(int(given[1]), 10800)) if given else BACKFILL_INTERVAL
    return Scheduler.of(**keys)


def _enforced(text: str) -> frozenset[str]:
    """Return the enforced associations, with implied ones. Source: slurm.conf(5), AccountingStorageEnforce."""
    words = set(text.lower().split(","))
    limits = words & {"limits", "safe", "all"}
    qos = words & {"qos", "all"}
    found = {"limits"} if limits else set()
    found |= {"qos"} if qos else set()
    return frozenset(found | ({"associations"} if found or "associations" in words else set()))


def port_range(text: str) -> tuple[int, int] | None:
    """Parse a range such as `6817`, `60001-63000` or `32768 60999`; None for `0-0` and any other text."""
    numbers = [int(word) for word in re.findall(r"\d{1,5}", text, re.ASCII)]
    return (numbers[0], numbers[-1]) if numbers and numbers[-1] else None


def free_ports(taken: Iterable[tuple[int, int]]) -> Ports | None:
    """Return the usual range if it is free, else the longest free range; None if that is too short."""
    usual = Ports.of()
    free = list(_free_ranges(sorted(taken)))
    if any(first <= usual.first and usual.last <= last for first, last in free):
        return usual
    first, last = max(free, key=lambda each: each[1] - each[0], default=(0, 0))
    return Ports.of(first=first, last=last) if last - first >= _FEWEST else None


def _free_ranges(taken: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
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
    """Return the plugins of `srun --mpi=list`, the default first: Slurm's, else pmix, else pmi2.

    The list has one word per line, and the versions of a plugin in a separate line. Before 22.05 each line starts with
    `srun: `.
    """
    words = [line.removeprefix("srun: ").strip() for line in text.splitlines()]
    words += [word.strip() for line in _VERSIONS.findall(text) for word in line.split(",")]
    found = [word for word in dict.fromkeys(words) if _PLUGIN.fullmatch(word) and word != _NONE]
    order = (default, *_PREFERRED)
    return tuple(sorted(found, key=lambda word: order.index(word) if word in order else len(order)))
