"""Commands of the program without a start of Python for each: a process per user and host has imported all of it.

It forks for each command, and the child becomes the command line: with its words, environment, folder and streams. What
Python reads of the environment when it starts, it has read before; `can_fork` says which commands do not mind.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

OF_PYTHON = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "MALLOC")
"""How variables begin that Python or its libraries read when they start."""
LIMIT = 200_000
"""Bytes of a request."""
PARENT = """
import importlib, json, os, pkgutil, signal, socket, sys
import paislurm.translator
for found in pkgutil.walk_packages(paislurm.translator.__path__, "paislurm.translator."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
from paislurm.translator.cli import start
requests = socket.socket(fileno=int(sys.argv[1]))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    text, received, _, _ = socket.recv_fds(requests, int(sys.argv[2]), 4)
    if not text:
        sys.exit()
    if os.fork():
        for each in received:
            os.close(each)
        continue
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    requests.close()
    command = os.fork()
    if not command:
        break
    os.write(received[3], b"%d\\n" % command)
    for each in received[:3]:
        os.close(each)
    for each in range(3):
        os.close(each)
    os.write(received[3], b"%d\\n" % os.waitpid(command, 0)[1])
    os._exit(0)
for number, each in enumerate(received[:3]):
    os.dup2(each, number)
sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)
for each in received:
    os.close(each)
request = json.loads(text)
os.environ.clear()
os.environ.update(request["env"])
os.chdir(request["cwd"])
sys.argv = request["argv"]
start.run()
"""


FORKERS: dict[tuple[str, ...], Forker] = {}
"""Those of this process, by the command that started them: it names the user, the host and its latest start."""


def forker(command: Sequence[str]) -> Forker:
    """Return the process that forks commands, started by a command that ends with Python."""
    found = FORKERS.get(tuple(command))
    if found is None or found.process.poll() is not None:
        found = FORKERS[tuple(command)] = Forker(command)
    return found


class Forker:
    """The process of a user on a host that forks commands; it ends with this one."""

    def __init__(self, command: Sequence[str]) -> None:
        self.requests, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            # Streams of its own: those of commands come with them.
            self.process = subprocess.Popen(
                [*command, "-c", PARENT, str(other.fileno()), str(LIMIT)],
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
            )

    def run(
        self, argv: Sequence[str], *, cwd: Path | str, env: Mapping[str, str], stdin: str, timeout: float
    ) -> subprocess.CompletedProcess[str] | None:
        """Run a command as `subprocess.run` does with pipes for its streams; None if this process has gone."""
        request = json.dumps({"argv": list(argv), "cwd": str(cwd), "env": dict(env)}).encode()
        with ExitStack() as stack:
            given = stack.enter_context(tempfile.TemporaryFile())
            given.write(stdin.encode())
            given.seek(0)
            pipes = [os.pipe() for _ in range(3)]
            theirs = [given.fileno() if stdin else os.open(os.devnull, os.O_RDONLY), *(end for _, end in pipes)]
            ours = {reader: b"" for reader, _ in pipes}
            for reader in ours:
                stack.callback(os.close, reader)
            try:
                socket.send_fds(self.requests, [request], theirs)
            except OSError:
                return None
            finally:
                for each in theirs[0 if not stdin else 1 :]:
                    os.close(each)
            _read_all(ours, argv, timeout)
            output, errors, ends = (text.decode() for text in ours.values())
        if ends.count("\n") != 2:
            return None
        status = os.waitstatus_to_exitcode(int(ends.split()[1]))
        return subprocess.CompletedProcess(list(argv), status, output, errors)


def _read_all(files: dict[int, bytes], argv: Sequence[str], timeout: float) -> None:
    """Read files to their ends; the last one begins with the number of the process, which is killed after a time."""
    until, open_ones, last = time.monotonic() + timeout, set(files), list(files)[-1]
    while open_ones:
        ready, _, _ = select.select(list(open_ones), [], [], max(0, until - time.monotonic()))
        if not ready:
            with suppress(ProcessLookupError, IndexError):
                os.kill(int(files[last].split()[0]), signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(argv), timeout)
        for each in ready:
            text = os.read(each, 1 << 16)
            files[each] += text
            if not text:
                open_ones.remove(each)


def can_fork(argv: Sequence[str], path: str, program: Path, more: Mapping[str, str]) -> bool:
    """Return whether a command is this program, and minds nothing that Python has read when it started."""
    return (
        argv[0] == "paislurm"
        and not any(name.startswith(OF_PYTHON) for name in more)
        and len(json.dumps([*argv, *more.items()])) < LIMIT // 2
        and shutil.which("paislurm", path=path) == str(program)
    )
