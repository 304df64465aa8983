"""Virtual days of a monitor in the simulator, while 200 jobs come and go, and processes and Slurm fail at times.

The model keeps each job for ever, a real Slurm does not: jobs whose folders were removed are taken out of it.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import contextmanager
from functools import partial
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from paislurm.translator.app.input.source import Source
from paislurm.translator.app.jobs.refresh import monitor_lock
from paislurm.translator.app.jobs.removing import jobs_to_remove, remove_jobs
from paislurm.translator.app.monitor_run import run_monitor
from paislurm.translator.app.submit.new_folder import place_for
from paislurm.translator.app.submit.prepare import Prepared
from paislurm.translator.app.submit.submitting import take
from paislurm.translator.files.lock import ABANDONED_SECONDS
from paislurm.translator.monitor.loop import Monitor
from tests.simulation.files import Server
from tests.simulation.invariants import folders, journal
from tests.simulation.moments import Moments, watched
from tests.simulation.people import HOME, People, _compiled
from tests.simulation.syscalls import ROOT, simulated
from tests.simulation.witness import Witness
from tests.simulation.world import OUTSIDE, Choices, World

from .measures import OwnedClient, held
from .patient import PatientSlurm
from .slopes import slopes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.simulation.world import Process

    from .slopes import Sample

JOBS = 200
HOUR = 3600
TICK, SAMPLE = 60, 900
"""Seconds between two rounds of the users, and between two samples."""
KEPT = 1800
"""Seconds after which an ended job is removed."""
CHECK_CPU = 0.001
"""CPU seconds for one check of files, from which the monitor's pauses follow: 5 s."""
STAYS = re.compile(rf"{HOME}/(runtime|nodes.jsonl$|monitor/(ended.json|calls.log)$|jobs/.new-)")
"""What may stay.

The runtime, once for each version; the bad nodes; the cache of outcomes; the call log; for a day, a submit that was
killed.
"""
PART_CHANGED, PART_REMOVED = 0.2, 0.2
"""The part of the rounds in which a job is cancelled, changed or looked at, and in which ended jobs are removed."""
WARM = 0.5
"""The part of the time that is left out of the slopes: jobs that are retried often live for days."""


def soak(hours: float, seed: int = 0) -> int:
    """Print the slopes of a soak; return 1 if a measure grows, or if something is left at the end."""
    samples, left = soaked(hours, JOBS, faults_an_hour=4, seed=seed)
    found = slopes(samples, hours * WARM)
    print(*(json.dumps({"hour": hour, **values}) for hour, values in samples), sep="\n")
    print(*found, *(f"left at the end: {each}" for each in left), sep="\n")
    return int(bool(left) or any(each.grows for each in found))


def soaked(hours: float, jobs: int, *, faults_an_hour: float, seed: int = 0) -> tuple[list[Sample], list[str]]:
    """Let jobs come and go for virtual hours, then end and remove all. Return samples, and what is left at the end."""
    world = World(Choices(seed))
    users = _Users(world, jobs, faults_an_hour)

    def all_hours() -> None:
        users.begin()
        users.work(hours * HOUR)
        users.end()

    with _simulated(world, users):
        world.spawn("users", OUTSIDE, all_hours)
        world.run()
    return users.samples, users.left()


class _Users:
    """The users' part: submit new jobs for those that ended, cancel, look, remove, keep a monitor running."""

    def __init__(self, world: World, jobs: int, faults_an_hour: float) -> None:
        self._world, self._jobs, self._faults_an_hour = world, jobs, faults_an_hour
        self._server = Server(world, cached=False)
        self._clients = {host: OwnedClient(self._server) for host in ("login1", "login", "node", OUTSIDE)}
        self._server.clients.update(self._clients)
        self.witness, self.moments = Witness(world, self._server), Moments(world)
        self.witness.slurm = self._slurm = PatientSlurm(world, self._server, self.witness, self.moments)
        self._people = People(world, self._slurm, self.witness)
        self._random = Random(world.choices.choose(1 << 30))
        self._monitor: Process | None = None
        self._answers = self._count = 0
        self._before: set[str] = set()
        self.monitors: list[Monitor] = []
        self.samples: list[Sample] = []

    def begin(self) -> None:
        """Make the home; one job comes and goes, which leaves the files that stay."""
        for path in (ROOT, HOME):
            self._clients[OUTSIDE].mkdir(path, 0o700)
        self._start(self._submit)
        self._world.sleep(TICK)
        self.end()
        self._before = self._names()

    def work(self, seconds: float) -> None:
        """Let time pass, with a round each minute and a sample every few minutes."""
        began = sampled = self._world.now
        while self._world.now < began + seconds:
            if self._random.random() < self._faults_an_hour * TICK / HOUR:
                self._world.faults += 1
            self._round()
            self._world.sleep(TICK)
            if self._world.now >= sampled + SAMPLE:
                sampled = self._world.now
                self.samples.append(((sampled - began) / HOUR, self._sample()))

    def end(self) -> None:
        """Cancel and remove all jobs, without faults. The monitor ends with the last job."""
        self._world.faults = 0
        for name in self._living():
            self._start(self._people.cancel, name)
        while self._living():
            self._keep_monitor()
            self._world.sleep(TICK)
        self._start(self._remove, 0)
        # The next owner of the lock removes what killed processes have left, an hour later.
        self._world.sleep(ABANDONED_SECONDS + TICK)
        self._start(self._take_lock)
        while len(self._world.processes) > 1:
            self._world.sleep(TICK)

    def _take_lock(self) -> None:
        with monitor_lock(self._people.session()).taken():
            pass

    def left(self) -> list[str]:
        """Return what is left in the end that was not there after the first job, and what is open."""
        return [
            *sorted(self._names() - self._before),
            *(f"an open file of {host}" for host, client in self._clients.items() if client.opened()),
        ]

    def _names(self) -> set[str]:
        """Return all paths, without the numbers of locks and without what may stay."""
        paths = (path for path, _ in self._server.root.below("/") if not STAYS.match(path))
        return {re.sub(r"lock\.\d+$", "lock.N", path) for path in paths}

    def _round(self) -> None:
        self._keep_monitor()
        living = self._living()
        for _ in range(self._jobs - len(living)):
            self._start(self._submit)
        if living and self._random.random() < PART_CHANGED:
            what = self._random.choice((self._people.cancel, self._people.status, self._people.update))
            self._start(what, self._random.choice(living))
        if self._random.random() < PART_REMOVED:
            self._start(self._remove, KEPT)

    def _living(self) -> list[str]:
        return [name for name, folder in folders(self._server) if journal(folder).ended is None]

    def _keep_monitor(self) -> None:
        if self._monitor is None or self._monitor.over:
            self._monitor = self._start(lambda: run_monitor(self._people.session()))

    def _start(self, call: Callable[..., object], *words: object) -> Process:
        tried = partial(self._people._tried, lambda _: call(*words), "")
        return self._world.spawn(getattr(call, "__name__", "call"), "login1", tried)

    def _submit(self) -> None:
        name, self._count = f"job-{self._count}", self._count + 1
        session = self._people.session()
        source = Source(file="job.yaml", submit_folder="/tmp")
        compiled, full_name = _compiled.__wrapped__(name), f"{session.user}~{name}"
        take(
            session, Prepared(source=source, text=b"", compiled=compiled, name=full_name), place_for(session, full_name)
        )

    def _remove(self, older_than: int) -> None:
        session = self._people.session()
        remove_jobs(session, jobs_to_remove(session, [], older_than=older_than).jobs)

    def _sample(self) -> dict[str, float]:
        journals = {name: folder.entries["journal.jsonl"] for name, folder in folders(self._server)}
        self._forget({*journals})
        living = [len(journals[name].data) for name in self._living()]
        paths = [path for path, _ in self._server.root.below("/")]
        size, number = held(self.monitors[-1])
        answers, self._answers = self._slurm.answers - self._answers, self._slurm.answers
        return {
            "living jobs": len(living),
            "run folders": len(journals),
            "inodes": len(paths),
            "inodes beside run folders": sum(not path.startswith(f"{HOME}/jobs/") for path in paths),
            "hidden names": sum("/." in path.removeprefix(HOME) for path in paths),
            "bytes of the journal of a living job": sum(living) / max(1, len(living)),
            "bytes of the longest journal of a living job": max(living, default=0),
            "open descriptors": sum(client.opened() for client in self._clients.values()),
            "calls to Slurm, an hour": answers * HOUR / SAMPLE,
            "objects that the monitor holds": number,
            "KiB of these objects": size / 1024,
            "processes": len(self._world.processes),
        }

    def _forget(self, names: set[str]) -> None:
        """Take out of the model what a real Slurm, and people, would forget, and most of what the witness knows."""
        jobs, witness = self._slurm.jobs, self.witness
        for job_id in [job_id for job_id, job in jobs.items() if job.ended and job.submission.folder.name not in names]:
            del jobs[job_id]
        for kept in (self._slurm.ran, self._people.cancelled, self._people.ended, self._world.choices._made):
            kept.clear()
        for known in (witness._asked, witness._found, witness.timely, witness.answered):
            known.clear()
        for client in self._clients.values():
            client._folders.clear()
        witness._done = {process: done for process, done in witness._done.items() if process and not process.over}
        witness._writing = {number: writing for number, writing in witness._writing.items() if writing}
        if self._monitor is not None:
            self._monitor.threads = [thread for thread in self._monitor.threads if not thread.over]


@contextmanager
def _simulated(world: World, users: _Users) -> Iterator[None]:
    """Let the program see the simulator. The loop's pauses are those of a monitor with 200 jobs."""

    class Watched(Monitor):
        def __init__(self, *words: Any) -> None:
            super().__init__(*words)
            users.monitors[:] = [self]

    cpu = count(step=CHECK_CPU)
    with (
        simulated(world, users._server),
        watched(users.moments, users.witness),
        patch("paislurm.translator.app.monitor_run.Monitor", Watched),
        patch.object(time, "thread_time", lambda: next(cpu)),
        patch.dict(Monitor.run.__kwdefaults__, sleep=world.sleep, spent=lambda: False),
    ):
        yield
