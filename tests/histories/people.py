"""What the users do: operations chosen by a seed, and the job files that they submit."""

from __future__ import annotations

import signal
from random import Random
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from pathlib import Path

USERS = ("alice", "bob", "dave")
OPERATIONS = {
    "submit": 13, "status": 28, "list": 6, "cancel": 8, "update": 8, "remove": 5, "monitor": 7, "follow": 4,
    "wait": 3, "logs": 5,
}  # fmt: skip
RECENT, NEWEST = 12, 4
"""Users look after their latest jobs, and change the newest."""
STALL = (65.0, 100.0)
"""Seconds for which a process is stopped: longer than a lock without a heartbeat is believed."""
SECRET = "the-secret-of"
ENDINGS = {
    "succeed": (40, 'sleep "0.$((RANDOM % 9))"'),
    "work": (15, 'sleep "$((RANDOM % 4))"'),
    "fail": (8, "exit 3"),
    "again": (10, '[ "$FC_FRAMEWORK_ATTEMPT_ID" != 0 ] || exit 3'),
    "killed": (6, '[ "$FC_FRAMEWORK_ATTEMPT_ID" != 0 ] || kill -KILL $$'),
    "limit": (2, "sleep 300"),
    "long": (10, "sleep 25"),
    "children": (5, "sleep 2 & wait"),
}
PROFILE = """\
name: logins
partitions:
  normal:
    nodes: [{count: 4, cpus: 16, memoryMB: 1000000}]
    timeLimit: 1-00:00:00
defaultPartition: normal
virtualClusters:
  default: {partition: normal}
time: {grace: 2, killWait: 5}
monitor: {maxPollInterval: 5}
retry: {maxTransientRetries: 3, maxAttemptsPerHour: 100000, submitWait: 5}
"""


class Plan(Struct, kw_only=True):
    """What a history is made of."""

    operations: int
    seed: int = 0
    faults: bool = True
    stalls: bool = True
    """Whether faults stop processes for more than a minute, too."""
    at_once: int = 3
    """How many commands a user runs at a time on each login node."""


class Operation(Struct):
    """A command of a user, what was done to its process, and what came of it."""

    number: int
    user: str
    host: str
    what: str
    argv: list[str]
    name: str = ""
    ending: str = ""
    signals: list[tuple[float, int, bool]] = field(default_factory=list)
    """Seconds after the start, a signal, and whether it is sent to the whole process group."""
    began: float = 0.0
    ended: float = 0.0
    status: int | None = None
    """The exit status, or minus the signal that ended the process."""
    out: str = ""
    err: str = ""


class Person:
    """A user: what they have submitted, and what they do next."""

    def __init__(self, name: str, folder: Path, plan: Plan) -> None:
        self.name = name
        self.folder = folder
        self.plan = plan
        self.random = Random(f"{plan.seed} {name}")
        self.names: list[str] = []

    def next(self, number: int, host: str) -> Operation:
        """Return what the user does next on a host."""
        what = self.chosen(OPERATIONS) if self.names else "submit"
        done = Operation(number=number, user=self.name, host=host, what=what, argv=[])
        if what != "submit":
            latest = NEWEST if what in ("cancel", "update", "follow") else RECENT
            done.name = self.random.choice(self.names[-latest:])
        self._words(done)
        self._signals(done)
        return done

    def chosen(self, weights: dict[str, Any]) -> str:
        numbers = [value[0] if isinstance(value, tuple) else value for value in weights.values()]
        return self.random.choices(list(weights), numbers)[0]

    def learns(self, done: Operation) -> None:
        """Take down which jobs there may be."""
        known = done.name in self.names
        if done.what == "submit" and (done.status or 0) <= 0 and not known:
            self.names.append(done.name)
        elif done.what == "remove" and not done.status and known:
            self.names.remove(done.name)

    def _words(self, done: Operation) -> None:
        match done.what:
            case "submit":
                self._submit(done)
            case "list":
                done.argv = ["list", "--json", "--limit", "40"]
            case "monitor":
                done.argv = ["monitor", "--once", "--json"]
            case "follow":
                done.argv = ["logs", "--follow", done.name]
            case "wait":
                done.argv = ["wait", "--json", "--timeout", "4", done.name]
            case "update":
                changes = (["--retries", "2"], ["--time", "30"], ["--hold"], ["--release"], ["--nice", "5"])
                done.argv = ["update", "--json", *self.random.choice(changes), done.name]
            case "logs":
                done.argv = ["logs", done.name]
            case _:
                done.argv = [done.what, "--json", done.name]

    def _submit(self, done: Operation) -> None:
        again = self.names and self.random.random() < 0.12
        done.name = self.random.choice(self.names[-RECENT:]) if again else f"j{done.number}"
        done.ending = self.chosen(ENDINGS)
        file = self.folder / "jobs" / f"{done.number}.yaml"
        file.write_text(self.job(done), encoding="utf-8")
        done.argv = ["submit", "--json", str(file)]
        if self.names and self.random.random() < 0.05:
            done.argv += ["--after", f"{self.random.choice(self.names[-RECENT:])}:ended"]

    def job(self, done: Operation) -> str:
        """Return a job file: each task adds a line to the ledger."""
        roles = self.random.choice((["w"], ["w"], ["w"], ["w", "v"]))
        secret = self.random.random() < 0.3
        ledger = f'"{done.number} $FC_FRAMEWORK_ATTEMPT_ID $SLURM_JOB_ID ${{SLURM_RESTART_COUNT:-0}}'
        ledger += f' $FC_TASKROLE_NAME-$FC_TASK_INDEX $FC_TASK_ATTEMPT_ID $(date +%s.%N)" >>{self.folder}/ledger'
        lines = [
            "protocolVersion: 2",
            f"name: {done.name}",
            "type: job",
            f"jobRetryCount: {self.random.choice((0, 1, 2))}",
            "prerequisites: [{name: plain, type: dockerimage, uri: debian}]",
            *([f"secrets: {{key: {SECRET}-{done.number}}}"] if secret else []),
            "taskRoles:",
        ]
        for role in roles:
            lines += [
                f"  {role}:",
                f"    instances: {self.random.choice((1, 1, 2))}",
                "    dockerImage: plain",
                "    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}",
                "    commands:",
                f"      - echo {ledger}",
                *(["      - test -n '<% $secrets.key %>'"] if secret else []),
                f"      - |\n        {ENDINGS[done.ending][1]}",
            ]
        extras = ["layout: " + self.random.choice(("shared", "shared", "het"))] if len(roles) > 1 else []
        extras += ["time: 1"] if done.ending == "limit" else []
        lines += [f"extras: {{slurm: {{{', '.join(extras)}}}}}"] if extras else []
        return "\n".join(lines) + "\n"

    def _signals(self, done: Operation) -> None:
        """Choose what happens to the process."""
        if done.what == "follow":
            done.signals = [(self.random.uniform(0.2, 6.0), self.random.choice((signal.SIGINT, signal.SIGKILL)), False)]
        if not self.plan.faults:
            return
        chance = self.random.random()
        moment = self.random.uniform(0.0, 0.7)
        if chance < 0.08:
            done.signals.append((moment, signal.SIGKILL, self.random.random() < 0.3))
        elif chance < 0.10:
            done.signals.append((moment, self.random.choice((signal.SIGINT, signal.SIGTERM)), False))
        elif chance < 0.108 and self.plan.stalls:
            stall = self.random.uniform(*STALL)
            done.signals += [(moment, signal.SIGSTOP, False), (moment + stall, signal.SIGCONT, False)]
