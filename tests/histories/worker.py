"""Run commands of paislurm, each in a process forked from this one, which has imported the program.

It reads orders from standard input, a line of JSON each, and writes what came of them to standard output. A forked
process is what `paislurm` would be: it has its own output, and signals of the order reach it after their delays.
Its text is given to Python on a host: it imports only the standard library and paislurm.
"""

from __future__ import annotations

import gc
import heapq
import importlib
import json
import os
import pkgutil
import select
import signal
import sys
import time
from contextlib import suppress
from typing import Any

LIMIT = 240.0
"""Seconds after which a command is killed."""


def load() -> None:
    """Import all modules of the program that can be imported here."""
    import paislurm.backends
    import paislurm.translator

    for package in (paislurm.translator, paislurm.backends):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=lambda _: None):
            if not found.name.endswith("__main__"):
                with suppress(Exception):
                    importlib.import_module(found.name)
    gc.collect()
    gc.freeze()


class Running:
    """A forked process, its order and its output."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.outputs = [os.memfd_create(name) for name in ("out", "err")]
        self.began = time.time()
        # Ctrl-C that comes before the program has begun ends the process, and is none of the worker's.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        self.pid = os.fork()
        if not self.pid:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            self._become()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        self.pidfd = os.pidfd_open(self.pid)

    def _become(self) -> None:
        from paislurm.translator.cli.start import run

        try:
            os.setpgid(0, 0)
            # It is ignored if this runs in the background of a shell.
            signal.signal(signal.SIGQUIT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, descriptor in enumerate(self.outputs, 1):
                os.dup2(descriptor, number)
            os.closerange(3, 256)
            os.chdir(self.order["cwd"])
            sys.argv = ["paislurm", *self.order["argv"]]
            signal.signal(signal.SIGINT, signal.default_int_handler)
            run()
        except KeyboardInterrupt as error:
            # Raised here, before the command has begun, it is as if the signal had come earlier still.
            begun = error.__traceback__ is None or error.__traceback__.tb_next is not None
            os._exit(70 if begun else 128 + signal.SIGINT)
        finally:
            os._exit(70)

    def send(self, number: int, group: bool) -> None:
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.pid, number)

    def result(self) -> dict[str, Any]:
        """Reap the process, and return what came of its order."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pidfd)
        texts = []
        for descriptor in self.outputs:
            texts.append(os.pread(descriptor, 1 << 20, 0).decode(errors="replace"))
            os.close(descriptor)
        return {
            "number": self.order["number"],
            "began": self.began,
            "ended": time.time(),
            "status": os.waitstatus_to_exitcode(status),
            "out": texts[0],
            "err": texts[1][-4000:],
        }


def serve() -> None:
    """Follow orders until standard input ends."""
    running: dict[int, Running] = {}
    timers: list[tuple[float, int, int, bool]] = []
    waiting = b""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    while True:
        pause = max(0.0, timers[0][0] - time.time()) * 1000 if timers else None
        for descriptor, _ in poll.poll(pause):
            if descriptor == 0:
                data = os.read(0, 1 << 16)
                if not data:
                    return
                *lines, waiting = (waiting + data).split(b"\n")
                for line in lines:
                    order = json.loads(line)
                    found = Running(order)
                    running[found.pidfd] = found
                    poll.register(found.pidfd, select.POLLIN)
                    for delay, number, group in [*order["signals"], (LIMIT, signal.SIGKILL, True)]:
                        heapq.heappush(timers, (found.began + delay, order["number"], number, group))
            else:
                poll.unregister(descriptor)
                line = json.dumps(running.pop(descriptor).result()).encode() + b"\n"
                while line:
                    line = line[os.write(1, line) :]
        while timers and timers[0][0] <= time.time():
            _, which, number, group = heapq.heappop(timers)
            for found in running.values():
                if found.order["number"] == which:
                    found.send(number, group)


if __name__ == "__main__":
    load()
    os.write(1, b'{"ready": true}\n')
    serve()
