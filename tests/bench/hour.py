"""What Slurm itself counts for a user who has 50 jobs for an hour: the calls that slurmctld and slurmdbd had from them.

    python -m tests.bench.hour               # a real hour with the settings that a site has by default
    python -m tests.bench.hour --minutes 6   # a clock of ours that runs ten times as fast; no measurement of an hour

It boots the cluster, or takes the one that is up and that nobody else uses. `make bench` leaves it out, since it takes
an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paislurm.translator.site.profile import Monitor
from tests.cluster.checkout import install_checkout
from tests.cluster.cluster import Cluster
from tests.cluster.instance import GROUP_ID, USERS
from tests.cluster.jobs import job_text, profile, role
from tests.cluster.processes import wait_until

from .measure import Note, Ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

USER = "bob"
"""Calls Slurm in no test."""
HOUR, LONGER = 3600, 7200
CALLS = 70
STEADY, TURNS = 40, 6
"""So many jobs run all the time, and so many wait for their turn: they want more CPUs than are free."""
FAILING, ENDING = (600, 1500, 2400), (1800,)
"""Seconds after which a job fails, and is retried once, and after which one succeeds."""
COUNT = re.compile(r"^\s+(\S+)\s+\(\s*(\d+)\)\s+count:(\d+)", re.MULTILINE)
"""A row of the statistics: a message or a user, its number, and how many calls. Source: sdiag(1), sacctmgr(1)."""
BY_TYPE, BY_USER = "statistics by message type", "statistics by user"
SDIAG, DBD = ["sdiag"], ["sacctmgr", "show", "stats"]


@dataclass(frozen=True)
class Counted:
    """Hold what one daemon counted: the user's calls, and calls of all users by message."""

    own: int
    by_type: dict[str, int]


def main() -> int:
    """Print what was counted, and whether it is little enough."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.hour", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60, help="less than 60: a faster clock of ours")
    faster = 60 / parser.parse_args().minutes
    over = 0
    with booted() as cluster:
        for row in _measure(cluster, faster):
            print(row, flush=True)
            over += not row.ok
    return int(over > 0)


@contextmanager
def booted() -> Iterator[Cluster]:
    """Boot the cluster, or take the one that is up; of the user nothing stays."""
    cluster = Cluster()
    was_booted = cluster.up()
    try:
        install_checkout(cluster.instance)
        yield cluster
    finally:
        cluster.admin(["scancel", f"--user={USER}"], check=False)
        if was_booted:
            cluster.down()


def _measure(cluster: Cluster, faster: float) -> Iterator[Ratio | Note]:
    """Submit the jobs, let an hour go by, and yield what was counted."""
    user = _User(cluster, faster)
    names = user.submit_all()
    running = STEADY + len(FAILING) + len(ENDING)
    wait_until(lambda: user.running() == running, f"{running} jobs to run", 300)
    cluster.admin(["sdiag", "--reset"])
    cluster.admin(["sacctmgr", "--immediate", "clear", "stats"])
    before, began = user.call_log(), time.monotonic()
    yield Note(f"{time.strftime('%H:%M:%S')} {running} jobs run and {TURNS} wait; counts: {_both(cluster)}")
    time.sleep(HOUR / faster)
    slurmctld, slurmdbd = _counted(cluster, SDIAG), _counted(cluster, DBD)
    seconds, after = time.monotonic() - began, user.call_log()
    yield Note(f"{time.strftime('%H:%M:%S')} after {seconds:.0f} s; counts: {slurmctld.own} and {slurmdbd.own}")
    for daemon, counted in (("slurmctld", slurmctld), ("slurmdbd", slurmdbd)):
        for message, count in counted.by_type.items():
            yield Note(f"{daemon}, for all users: {count} {message}")
    asked = {program: after[program] - before.get(program, 0) for program in after}
    yield Note(f"the call log of this time: {asked}")
    wrong = user.wrong(names)
    yield Note(f"jobs that are not as they should be: {wrong or 'none'}", ok=not wrong)
    clock = "" if faster == 1 else f" (no hour: {seconds:.0f} s with a clock {faster:.3g} times as fast)"
    what = f"calls of a user with {len(names)} jobs in an hour, at slurmctld and slurmdbd{clock} : {CALLS}"
    yield Ratio(what, slurmctld.own + slurmdbd.own, CALLS, 1)


def _both(cluster: Cluster) -> str:
    return f"{_counted(cluster, SDIAG).own} at slurmctld and {_counted(cluster, DBD).own} at slurmdbd"


def _counted(cluster: Cluster, argv: list[str]) -> Counted:
    text = cluster.admin(argv)
    types, users = text.partition(BY_TYPE)[2].partition(BY_USER)[::2]
    own = {int(number): int(count) for _, number, count in COUNT.findall(users)}
    return Counted(own.get(USERS[USER].uid, 0), {name: int(count) for name, _, count in COUNT.findall(types)})


class User:
    """The user with a folder of their own, whose monitor is the one that `submit` leaves behind."""

    def __init__(self, cluster: Cluster, name: str, settings: str) -> None:
        self._cluster = cluster
        self._home = cluster.home(USER) / ".paislurm"
        self._folder = cluster.home(USER) / f"{name}-{os.getpid()}"
        self._folder.mkdir()
        self._write("site.yaml", profile("normal") + settings)
        os.chown(self._folder, USERS[USER].uid, GROUP_ID)

    def _write(self, name: str, text: str) -> None:
        path = self._folder / name
        path.write_text(text)
        path.chmod(0o644)

    def _submit(self, name: str, command: str, *, waits: bool) -> None:
        """Submit a job of one task, or one that waits since it wants four nodes and others go first."""
        extras = f"{{slurm: {{time: 300{', options: [--nice=10000]' * waits}}}}}"
        text = job_text(name, role("w", 4 if waits else 1, command), extras) + "jobRetryCount: 1\n"
        self._write("job.yaml", text.replace("cpu: 1", "cpu: 16") if waits else text)
        self._run("submit", "job.yaml")

    def _run(self, *words: str) -> str:
        argv = [f"{self._cluster.instance.venv}/bin/paislurm", *words]
        env = {"PAISLURM_SITE": str(self._folder / "site.yaml")}
        done = self._cluster.run(argv, user=USER, cwd=self._folder, env=env)
        if done.returncode:
            print(f"{' '.join(words)}: {done.stderr.strip()}", flush=True)
        return done.stdout


class _User(User):
    """The user who has 50 jobs for an hour."""

    def __init__(self, cluster: Cluster, faster: float) -> None:
        # A site's default is what is measured; only a faster clock is written down.
        interval = max(1, round(Monitor().max_poll_interval / faster))
        super().__init__(cluster, "hour", "" if faster == 1 else f"monitor: {{maxPollInterval: {interval}}}\n")
        self._faster = faster

    def submit_all(self) -> list[str]:
        """Submit all jobs; return their names."""
        wait = f"sleep {LONGER}"
        commands = {f"steady-{k}": wait for k in range(STEADY)}
        for after in FAILING:
            fails = f'[ "$FC_FRAMEWORK_ATTEMPT_ID" != 0 ] || {{ sleep {after / self._faster}; exit 1; }}; {wait}'
            commands[f"failing-{after}"] = fails
        commands |= {f"ending-{after}": f"sleep {after / self._faster}" for after in ENDING}
        commands |= {f"turn-{k}": wait for k in range(TURNS)}
        for name, command in commands.items():
            self._submit(name, command, waits=name.startswith("turn-"))
        return list(commands)

    def running(self) -> int:
        return self._cluster.admin(["squeue", "-h", f"--user={USER}", "--states=R", "-o", "%i"]).count("\n")

    def call_log(self) -> dict[str, int]:
        """Return how often each program was called, as the monitor writes it down."""
        shown = json.loads(self._run("monitor", "--calls", "--json"))
        return {row["program"]: row["calls"] for row in shown["programs"]}

    def wrong(self, names: list[str]) -> list[str]:
        """Return the jobs of which the monitor has missed the end, or that it has given a wrong number of attempts."""
        found = []
        for name in names:
            journal = self._home / "jobs" / f"{USER}~{name}" / "journal.jsonl"
            kinds = [json.loads(line)["kind"] for line in journal.read_text().splitlines()]
            ends, attempts = name.startswith("ending-"), 1 + name.startswith("failing-")
            if kinds.count("submitted") != attempts or ("ended" in kinds) != ends:
                found.append(name)
        return found


if __name__ == "__main__":
    sys.exit(main())
