"""Virtual time, simulated processes, and the choices that order them.

A process is a greenlet. It stops before each effect (see `World.step`), where another one may go on, it may be killed,
or it may stall. Every choice comes from `Choices`, so that a seed, or a list of numbers, repeats a history.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from greenlet import getcurrent, greenlet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

STEP_SECONDS = 0.002
"""Virtual seconds for each effect."""
STALLS = (40, 100, 200)
"""Seconds for which a process may stand still: shorter and longer than a lock without a heartbeat lasts."""


class Killed(BaseException):
    """End a simulated process at its next effect, whatever its code does about it."""


class Choices:
    """Numbers from a seed, or from a list: 0, the simplest choice, follows its last one."""

    def __init__(self, seed: int = 0, given: Sequence[int] | None = None) -> None:
        self._random = Random(seed)
        self._given = given
        self.made: list[int] = []

    def choose(self, count: int, chance: float = 1.0) -> int:
        """Return 0 to `count` - 1: with `chance` any of them, else 0."""
        if self._given is not None:
            position = len(self.made)
            value = self._given[position] % count if position < len(self._given) else 0
        elif chance < 1.0 and self._random.random() >= chance:
            value = 0
        else:
            value = int(self._random.random() * count)
        self.made.append(value)
        return value


class Process:
    """A simulated process, or a thread of one."""

    def __init__(self, name: str, host: str, thread: greenlet) -> None:
        self.name = name
        self.host = host
        self.greenlet = thread
        self.wake = 0.0
        self.dead = False
        self.over = False
        self.threads: list[Process] = []
        self.when_killed: Callable[[], object] = lambda: None

    def kill(self) -> None:
        """Let it, and its threads, have no effect any more."""
        self.dead = True
        self.wake = 0.0
        for thread in self.threads:
            thread.kill()


class World:
    """All processes of a history, and its clock. `faults` is the number of faults that may still come."""

    def __init__(self, choices: Choices, faults: int = 0, *, telling: bool = False) -> None:
        self.choices = choices
        self.faults = faults
        self.now = 1_800_000_000.0
        self.processes: list[Process] = []
        self.story: list[str] = []
        self.telling = telling
        self.kills = 0
        self.stalls = 0
        self.current: Process | None = None
        self._main = getcurrent()
        self.waiting: list[Callable[[], Process]] = []
        """What starts in the middle of something: each call starts a process."""

    def spawn(self, name: str, host: str, call: Callable[[], object], delay: float = 0.0) -> Process:
        """Start a process `delay` seconds from now."""

        def run() -> None:
            try:
                call()
            except Killed:
                pass
            finally:
                process.over = True

        process = Process(name, host, greenlet(run, self._main))
        process.wake = self.now + delay
        self.processes.append(process)
        return process

    def run(self, until: Callable[[], bool] | None = None) -> None:
        """Let the processes run until all are over, or `until` is true."""
        while (self.processes or self.waiting) and not (until and until()):
            if not self.processes:
                self.waiting.pop()()
            ready = [process for process in self.processes if process.wake <= self.now]
            if not ready:
                self.now = min(process.wake for process in self.processes)
                continue
            process = ready[self.choices.choose(len(ready), 0.3) if len(ready) > 1 else 0]
            self.current = process
            process.greenlet.switch()
            self.current = None
            if process.over:
                self.processes.remove(process)

    def step(self, what: str) -> None:
        """Stand before an effect: the process may be killed here, may stall, or another one may go on."""
        process = self.current
        if process is None:
            return
        if process.dead:
            raise Killed
        self.now += STEP_SECONDS
        fault = self.choices.choose(2 + len(STALLS), 0.004) if self.faults else 0
        if fault:
            self.faults -= 1
        if fault == 1:
            self.tell(f"is killed before: {what}")
            self.kills += 1
            process.kill()
            process.when_killed()
            raise Killed
        if fault:
            self.stalls += 1
            seconds = STALLS[fault - 2]
            self.tell(f"stalls for {seconds} s before: {what}")
            process.wake = self.now + seconds
            self._leave(process)
        elif self.waiting and self.choices.choose(2, 0.02):
            # The new process runs first.
            self.processes.insert(0, self.processes.pop(self.processes.index(self.waiting.pop()())))
            process.wake = self.now
            self._leave(process)
        elif self.choices.choose(2, 0.06):
            process.wake = self.now
            self._leave(process)
        if self.telling:
            self.tell(what)

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass for the process."""
        process = self.current
        assert process is not None
        if process.dead:
            raise Killed
        process.wake = self.now + max(0.0, seconds)
        self._leave(process)

    def _leave(self, process: Process) -> None:
        # The greenlet goes on when `run` chooses this process again.
        self._main.switch()
        if process.dead:
            raise Killed

    def fault(self, count: int, chance: float) -> int:
        """Return which of `count` faults comes here, 0 for none."""
        if not self.faults or self.current is None:
            return 0
        found = self.choices.choose(count + 1, chance)
        if found:
            self.faults -= 1
        return found

    def tell(self, what: str) -> None:
        """Add a line to the story of this history."""
        if self.telling:
            name = f"{self.current.name} on {self.current.host}" if self.current else "world"
            self.story.append(f"{self.now - 1_800_000_000:9.3f} {name}: {what}")
