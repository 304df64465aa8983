"""Have users work on a cluster, with faults or without, and let all of it come to its end."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.json import encode

from tests.cluster.instance import GROUP_ID
from tests.cluster.instance import USERS as ACCOUNTS

from .people import PROFILE, USERS, Operation, Person, Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.cluster.cluster import Cluster

HOSTS = ("login", "login2")
SETTLED = 900.0
"""Seconds in which all jobs must have ended, once the faults are over."""
WORKER = Path(__file__).with_name("worker.py")


class Worker:
    """A user at a login node."""

    def __init__(self, person: Person, host: str, argv: list[str], results: queue.Queue[tuple[Worker, Any]]) -> None:
        self.person = person
        self.host = host
        self.busy: dict[int, Operation] = {}
        pipe = subprocess.PIPE
        # In sessions of their own, so that Ctrl-C ends the operations and not the workers.
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
        self.reader = threading.Thread(target=self._read, args=(results,), daemon=True)
        self.reader.start()

    def _read(self, results: queue.Queue[tuple[Worker, Any]]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            results.put((self, json.loads(line)))
        results.put((self, None))

    def order(self, done: Operation) -> None:
        assert self.process.stdin is not None
        self.busy[done.number] = done
        words = {"number": done.number, "argv": done.argv, "signals": done.signals, "cwd": str(self.person.folder)}
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.reader.join()
        if self.process.stdout is not None:
            self.process.stdout.close()


class Driver:
    """The users of a history, and what they did. `folder` gets the evidence."""

    def __init__(self, cluster: Cluster, plan: Plan, folder: Path) -> None:
        self.cluster = cluster
        self.plan = plan
        self.folder = folder
        self.results: queue.Queue[tuple[Worker, Any]] = queue.Queue()
        self.done = 0
        self.asked = 0
        self.began = time.time()
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "journals").mkdir(parents=True)
        self.log = (folder / "operations.jsonl").open("wb")
        people = [Person(user, cluster.home(user), plan) for user in USERS]
        for person in people:
            self._settle_in(person)
        self.workers = [self._worker(person, host) for host in HOSTS for person in people]
        for _ in self.workers:
            self.results.get(timeout=120)

    def home(self, user: str) -> Path:
        """Return a user's home, which all login nodes share."""
        return self.cluster.instance.small / user

    def _settle_in(self, person: Person) -> None:
        own = ACCOUNTS[person.name].uid
        for name in ("jobs", "ledger"):
            shutil.rmtree(person.folder / name, ignore_errors=True)
        (person.folder / "ledger").unlink(missing_ok=True)
        (person.folder / "jobs").mkdir()
        (person.folder / "ledger").touch()
        (person.folder / "site.yaml").write_text(PROFILE, encoding="utf-8")
        home = self.cluster.seen(self.home(person.name))
        # Who owns the parent could replace the home, and the program refuses that.
        os.chown(home.parent, 0, 0)
        home.mkdir(mode=0o755, exist_ok=True)
        os.chown(home, own, GROUP_ID)
        shutil.rmtree(home / ".paislurm", ignore_errors=True)
        shutil.rmtree(home.parent / "kept" / person.name, ignore_errors=True)
        os.chown(person.folder / "ledger", own, GROUP_ID)

    def _worker(self, person: Person, host: str) -> Worker:
        python = str(self.cluster.instance.venv / "bin/python")
        argv = [python, "-c", WORKER.read_text(encoding="utf-8")]
        return Worker(person, host, self.command(argv, person.name, host), self.results)

    def command(self, argv: list[str], user: str, host: str) -> list[str]:
        """Return the command line that runs `argv` as the user at the login node."""
        env = self.environment(user)
        return self.cluster.command(argv, user=user, host=host, cwd=self.cluster.home(user), env=env)

    def environment(self, user: str) -> Mapping[str, str]:
        site = str(self.cluster.home(user) / "site.yaml")
        path = f"{self.cluster.instance.venv}/bin:{self.cluster.environment(user)['PATH']}"
        return {"HOME": str(self.home(user)), "PAISLURM_SITE": site, "PATH": path}

    def work(self, tell: Callable[[str], object] = lambda _: None) -> None:
        """Let the users work until all operations are over; after Ctrl-C no more begin."""
        for worker in self.workers:
            self._fill(worker)
        while self.done < self.asked:
            try:
                worker, result = self.results.get(timeout=600)
            except KeyboardInterrupt:
                tell("no more operations")
                self.plan.operations = self.asked
                continue
            if result is None:
                raise RuntimeError(f"the worker of {worker.person.name} at {worker.host} has ended")
            self._finish(worker, result)
            self._fill(worker)
            if self.done % 500 == 0:
                tell(f"{self.done} operations in {time.time() - self.began:.0f} s")

    def _fill(self, worker: Worker) -> None:
        while len(worker.busy) < self.plan.at_once and self.asked < self.plan.operations:
            self.asked += 1
            chosen = worker.person.next(self.asked, worker.host)
            if chosen.what == "remove":
                self.keep_journals()
            worker.order(chosen)

    def _finish(self, worker: Worker, result: dict[str, Any]) -> None:
        done = worker.busy.pop(result["number"])
        done.began, done.ended, done.status = result["began"], result["ended"], result["status"]
        done.out, done.err = result["out"], result["err"]
        worker.person.learns(done)
        self.log.write(encode(done) + b"\n")
        self.done += 1

    def keep_journals(self) -> None:
        """Keep what may be removed: a second name of each journal, below a folder that the program does not know."""
        for user in USERS:
            home = self.cluster.seen(self.home(user))
            kept = home.parent / "kept" / user
            kept.mkdir(parents=True, exist_ok=True)
            for journal in home.glob(".paislurm/jobs/*~*/journal.jsonl"):
                with suppress(FileNotFoundError):
                    name = kept / f"{journal.stat().st_ino}.jsonl"
                    if not name.exists():
                        os.link(journal, name)

    def ask(self, user: str, host: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command after all operations, without faults."""
        argv = self.command(["paislurm", *words], user, host)
        return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600, check=False)

    def alive(self, user: str, host: str) -> list[dict[str, Any]]:
        """Return what has not ended of a user's jobs."""
        listed = self.ask(user, host, "list", "--json", "--all", "--limit", "0")
        if listed.returncode:
            return [{"name": f"list fails: {listed.stderr}", "state": "?"}]
        left = [job for job in json.loads(listed.stdout)["jobs"] if not job["ended"]]
        journals = self.cluster.seen(self.home(user)).glob(".paislurm/jobs/*~*/journal.jsonl")
        # A result may tell of an end before a monitor has recorded it.
        silent = [path.parent.name for path in journals if b'"kind": "ended"' not in path.read_bytes()]
        return left or [{"name": name, "state": "without a recorded end"} for name in silent]

    def settle(self, tell: Callable[[str], object] = lambda _: None) -> list[str]:
        """Let monitors work until every job has ended; return those that have not."""
        self.log.close()
        for worker in self.workers:
            worker.end()
        with ThreadPoolExecutor() as pool:
            return [name for left in pool.map(lambda user: self._settle(user, tell), USERS) for name in left]

    def _settle(self, user: str, tell: Callable[[str], object]) -> list[str]:
        deadline = time.time() + SETTLED
        self.ask(user, HOSTS[0], "update", "--release", "j*")
        for host in cycle(HOSTS):
            left = self.alive(user, host)
            if not left or time.time() > deadline:
                return [f"{job['name']} {job['state']}" for job in left]
            tell(f"{len(left)} jobs of {user}: {left[0]['name']} {left[0]['state']} {left[0].get('reason')}")
            self.ask(user, host, "monitor", "--once")
            time.sleep(2)
        return []


def say(text: str) -> None:
    """Print to the standard error stream."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
