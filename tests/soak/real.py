"""A real hour: a user's monitor on a real Slurm while 200 jobs come and go.

The monitor is the one that `submit` leaves behind. 170 jobs wait for nodes that never come free, and 30 run for
minutes: they succeed, fail, are retried, or are cancelled. New ones follow, and `paislurm remove` removes the jobs that
have ended. monitor.log and calls.log grow to their limit of 1 MiB, which takes longer than an hour: they are left out.
"""

from __future__ import annotations

import json
import random
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.hour import BY_USER, COUNT, DBD, SDIAG, USER, User, booted
from tests.bench.watching import _used
from tests.cluster.instance import USERS
from tests.cluster.processes import read, recorded_pid, residents

from .measures import usage
from .slopes import slopes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.cluster import Cluster

WAITING, RUNNING = 170, 30
TICK, MINUTE = 10, 60
WARM_MINUTES = 10
KEPT = "2m"
"""How long a job is kept after its end."""
SHORT, LONG = 120, 360
"""Seconds that a job runs."""
ENDED = re.compile(rb'"kind": ?"ended"')
KINDS = ("succeeds", "succeeds", "succeeds", "retried", "retried", "fails", "cancelled", "succeeds")


def soak(minutes: float) -> int:
    """Print what was sampled each minute, and the slopes; return 1 if something grows."""
    with booted() as cluster:
        found = slopes(list(_Hour(cluster).run(minutes)), min(WARM_MINUTES, minutes / 4) / 60)
    print(*found, sep="\n", flush=True)
    return int(any(each.grows for each in found))


class _Hour(User):
    """The user, and their jobs by name: when to cancel each, 0 for never."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, "soak", "retry: {maxAttemptsPerHour: 1000}\n")
        self._random = random.Random(1)
        self._count = 0
        self._cancel_at: dict[str, float] = {}
        self._monitors: set[int] = set()

    def run(self, minutes: float) -> Iterator[tuple[float, dict[str, float]]]:
        """Let jobs come and go; yield a sample each minute with its time in hours."""
        self._fill(WAITING, RUNNING)
        began, minute, before = time.monotonic(), 0, self._counters()
        while minute < minutes:
            if time.monotonic() >= began + (minute + 1) * MINUTE:
                self._run("remove", "--older-than", KEPT, "--yes")
                counters, minute = self._counters(), minute + 1
                sample = self._sample() | {f"{what}, a minute": counters[what] - before[what] for what in counters}
                before = counters
                print(json.dumps({"minute": minute, **sample}), flush=True)
                yield (time.monotonic() - began) / 3600, sample
            self._turn_over()
            time.sleep(TICK)

    def _turn_over(self) -> None:
        """Cancel what is due, and submit jobs in the places of those that have ended."""
        living = self._living()
        now = time.monotonic()
        for name in [name for name, at in self._cancel_at.items() if 0 < at <= now]:
            del self._cancel_at[name]
            if name in living:
                self._run("cancel", name)
                living.discard(name)
        waiting = sum(name.startswith("wait-") for name in living)
        self._fill(WAITING - waiting, RUNNING - (len(living) - waiting))

    def _fill(self, waiting: int, running: int) -> None:
        for _ in range(running):
            kind = KINDS[self._count % len(KINDS)]
            # Jobs of the beginning end one after the other.
            seconds = self._random.randint(1 if running == RUNNING else SHORT, LONG)
            half = f"sleep {seconds // 2}; "
            first = f'[ "$FC_FRAMEWORK_ATTEMPT_ID" != 0 ] || {{ {half}exit 1; }}; '
            command = {
                "succeeds": f"sleep {seconds}",
                "retried": f"{first}{half}",
                "fails": f"{first}{half}exit 2",
                "cancelled": "sleep 7200",
            }[kind]
            self._begin(kind, command, cancel_after=seconds if kind == "cancelled" else 0)
        # Those that run leave no room for these, which are submitted after them. Two a minute are cancelled.
        for _ in range(waiting):
            after = self._random.uniform(0, WAITING * MINUTE)
            self._begin("wait", "sleep 7200", cancel_after=after)

    def _begin(self, kind: str, command: str, *, cancel_after: float) -> None:
        name = f"{kind[:4]}-{self._count}"
        self._count += 1
        self._submit(name, command, waits=kind == "wait")
        if cancel_after:
            self._cancel_at[name] = time.monotonic() + cancel_after

    def _journals(self) -> dict[str, bytes]:
        found = {}
        for path in (self._home / "jobs").glob(f"{USER}~*/journal.jsonl"):
            found[path.parent.name.partition("~")[2]] = path.read_bytes()
        return found

    def _living(self) -> set[str]:
        return {name for name, journal in self._journals().items() if not ENDED.search(journal)}

    def _sample(self) -> dict[str, float]:
        """Return each measure now."""
        journals = self._journals()
        living = [len(data) for data in journals.values() if not ENDED.search(data)]
        jobs, size = usage(self._home / "jobs")
        own = self._home / "monitor"
        sizes = {path.name: path.stat().st_size for path in own.rglob("*") if path.is_file()}
        logs = {name: size for name, size in sizes.items() if name.endswith(".log")}
        monitor = self._monitor()
        return {
            "living jobs": len(living),
            "run folders": len(journals),
            "inodes of run folders": jobs,
            "bytes of run folders": size,
            "bytes of the journal of a living job": sum(living) / max(1, len(living)),
            "bytes of the longest journal of a living job": max(living, default=0),
            "inodes of the home beside run folders": usage(self._cluster.home(USER))[0] - jobs,
            "bytes of the monitor's files without logs": sum(sizes.values()) - sum(logs.values()),
            "inodes in /tmp and /dev/shm of all hosts": self._temporary(),
            "processes of the user": len(list(self._processes())),
            "resident KiB of the monitor": int(_field(monitor, "VmRSS:")),
            "open descriptors of the monitor": len(list(Path(f"/proc/{monitor}/fd").iterdir())),
            "monitors that ever ran": len(self._monitors),
        }

    def _counters(self) -> dict[str, float]:
        """Return what only grows, of which the rate is a measure."""
        return {
            "calls of the user to slurmctld": self._calls(SDIAG),
            "calls of the user to slurmdbd": self._calls(DBD),
            "CPU seconds of the monitor": _used(self._monitor())[0],
            "jobs submitted": self._count,
        }

    def _calls(self, argv: list[str]) -> float:
        users = self._cluster.admin(argv).partition(BY_USER)[2]
        return next((int(count) for _, uid, count in COUNT.findall(users) if int(uid) == USERS[USER].uid), 0)

    def _temporary(self) -> int:
        instance, found = self._cluster.instance, 0
        for host in self._cluster.hosts:
            root = f"/proc/{recorded_pid(instance.pidfile(host))}/root"
            for top in (*Path(root, "tmp").iterdir(), *Path(root, "dev/shm").iterdir()):
                # The /tmp of login is that of the machine.
                with suppress(FileNotFoundError):
                    found += 1 + usage(top)[0] if top.lstat().st_uid == USERS[USER].uid else 0
        return found

    def _monitor(self) -> int:
        """Return the process that the user's monitor is."""
        found = [pid for pid in self._processes() if "\0monitor\0" in read(Path(f"/proc/{pid}/cmdline"))]
        self._monitors |= set(found)
        return found[0]

    def _processes(self) -> Iterator[int]:
        uid = f"{USERS[USER].uid}\t"
        for pid in residents(self._cluster.instance, self._cluster.hosts):
            if read(Path(f"/proc/{pid}/status")).partition("\nUid:\t")[2].startswith(uid):
                yield pid


def _field(pid: int, name: str) -> str:
    return read(Path(f"/proc/{pid}/status")).partition(name)[2].split()[0]
