"""In the guest: users on two login nodes whose commands run at once, each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from tests.cluster.instance import LOGIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.cluster.cluster import Cluster

LOGINS = (LOGIN, "n2")
CALLER = Path(__file__).with_name("caller.py")
PATIENCE = 300
"""Seconds after which a command hangs, whatever happened to its server."""
SITE = """\
monitor: {background: false}
partitions: {normal: {nodes: [{count: 1, cpus: 16, memoryMB: 1000000}]}}
defaultPartition: normal
time: {grace: 5, killWait: 5}
"""
JOB = """\
protocolVersion: 2
name: NAME
type: job
prerequisites: [{name: image, type: dockerimage, uri: debian}]
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: ['echo "NUMBER $SLURM_JOB_ID $PWD" >>RAN', sleep SECONDS]
"""


class Operation(Struct):
    """One command of a user. Times are the guest's, of one clock."""

    number: int
    what: str
    name: str
    host: str
    began: float
    ended: float = 0.0
    pid: int = 0
    code: int | None = None
    faults: list[str] = field(default_factory=list)
    document: Any = None
    error: str = ""


class People:
    """The users, and what they did and saw."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.folder = cluster.instance.folder / "orders"
        self.folder.mkdir()
        self.folder.chmod(0o1777)
        self.ran = self.folder / "ran"
        self.ran.touch()
        self.ran.chmod(0o666)
        self.site = self.folder / "site.yaml"
        self.site.write_text(SITE)
        self.operations: list[Operation] = []
        self._callers = {host: self._caller(host) for host in LOGINS}

    def _caller(self, host: str) -> subprocess.Popen[str]:
        argv = [f"{self.cluster.instance.venv}/bin/python", "-c", CALLER.read_text()]
        command = self.cluster.command(argv, host=host, env={"PAISLURM_SITE": str(self.site)}, cwd=Path("/"))
        caller = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert caller.stdout
        assert caller.stdout.readline() == "ready\n", f"no Python on {host}"
        Thread(target=self._listen, args=(caller.stdout,), daemon=True).start()
        return caller

    def start(self, what: str, name: str, host: str, seconds: float = 0) -> Operation:
        """Start a command. A job that is submitted sleeps for some seconds."""
        operation = Operation(len(self.operations), what, name, host, time.time())
        self.operations.append(operation)
        words = {
            "submit": [self.job_file(operation.number, name, seconds), "--json"],
            "update": [name, "--retries", "1", "--json"],
            "monitor": ["--once"],
            "remove": [name, "--yes", "--json"],
        }.get(what, [name, "--json"])
        order = {"number": operation.number, "argv": [what, *words], "output": str(self.output(operation))}
        caller = self._callers[host].stdin
        assert caller
        caller.write(f"{json.dumps(order)}\n")
        caller.flush()
        return operation

    def job_file(self, number: int, name: str, seconds: float) -> str:
        """Write a job file of its own for each submit, which tells jobs of one name apart."""
        path = self.folder / f"{number}.yaml"
        values = {"NAME": name, "NUMBER": number, "RAN": self.ran, "SECONDS": seconds}
        text = JOB
        for word, value in values.items():
            text = text.replace(word, str(value))
        path.write_text(text)
        return str(path)

    def output(self, operation: Operation) -> Path:
        return self.folder / f"{operation.number}.out"

    def _listen(self, lines: Iterable[str]) -> None:
        for line in lines:
            number, value = map(int, line.split())
            operation = self.operations[number]
            if not operation.pid:
                operation.pid = value
                continue
            with suppress(OSError, ValueError):
                operation.document = json.loads(self.output(operation).read_text())
            with suppress(OSError):
                operation.error = self.output(operation).with_suffix(".out.err").read_text()
            operation.ended = time.time()
            operation.code = value

    def wait(self, operations: Iterable[Operation], seconds: float = PATIENCE) -> list[Operation]:
        """Wait until commands have ended; return those that have not."""
        until = time.time() + seconds
        left = list(operations)
        while left and time.time() < until:
            time.sleep(0.05)
            left = [each for each in left if each.code is None]
        return left

    def do(self, what: str, name: str, host: str) -> Operation:
        """Run a command to its end."""
        operation = self.start(what, name, host)
        if self.wait([operation]):
            raise TimeoutError(f"{what} {name} on {host} hangs")
        return operation


def kill(operation: Operation) -> None:
    """End a command as the kernel does, at once and without a word."""
    if operation.pid and operation.code is None:
        with suppress(ProcessLookupError):
            os.kill(operation.pid, signal.SIGKILL)
