"""Virtual time, simulated processes, and the choices that order them.

A process is a greenlet. It stops before each effect (see `World.step`), where another one may go on, it may be killed,
or it may stall. Every choice comes from `Choices`, so that a seed, or a list of numbers, repeats a history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from greenlet import getcurrent, greenlet

from .choices import KILL, NEW, OTHER, STALLS, Choices

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Choices", "Killed", "Process", "World"]

STEP_SECONDS = 0.002
"""Virtual seconds for each effect."""
OUTSIDE = "outside"
"""The host on which the world itself runs."""


class Killed(BaseException):
    """End a simulated process at its next effect, whatever its code does about it."""


class Process:
    """A simulated process, or a thread of one."""

    def __init__(self, name: str, host: str, call: Callable[[], object]) -> None:
        self.name = name
        self.host = host
        self.call = call
        self.greenlet: greenlet | None = None
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


_idle: list[greenlet] = []
"""Greenlets whose processes are over: a new one costs more than most processes."""


def _work(process: Process) -> None:
    """Run processes one after the other, as the main greenlet gives them."""
    own = getcurrent()
    assert own.parent is not None
    while True:
        try:
            process.call()
        except Killed:
            pass
        finally:
            process.over = True
        _idle.append(own)
        process = own.parent.switch()


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
        self.host = OUTSIDE
        self._main = getcurrent()
        self.waiting: list[Callable[[], Process]] = []
        """What starts in the middle of something: each call starts a process."""

    def spawn(self, name: str, host: str, call: Callable[[], object], delay: float = 0.0) -> Process:
        """Start a process `delay` seconds from now."""
        process = Process(name, host, call)
        process.wake = self.now + delay
        self.processes.append(process)
        return process

    def run(self) -> None:
        """Let the processes run until all are over."""
        while self.processes or self.waiting:
            if not self.processes:
                self.waiting.pop()()
            now = self.now
            ready = [process for process in self.processes if process.wake <= now]
            if not ready:
                self.now = now = min(process.wake for process in self.processes)
                ready = [process for process in self.processes if process.wake <= now]
            process = ready[self.choices.choose(len(ready), 0.3) if len(ready) > 1 else 0]
            self.current, self.host = process, process.host
            try:
                if process.greenlet is None:
                    process.greenlet = _idle.pop() if _idle else greenlet(_work, self._main)
                    process.greenlet.switch(process)
                else:
                    process.greenlet.switch()
            finally:
                self.current, self.host = None, OUTSIDE
            if process.over:
                self.processes.remove(process)

    def step(self, *what: object) -> None:
        """Stand before an effect: the process may be killed here, may stall, or another one may go on."""
        process = self.current
        if process is None:
            return
        if process.dead:
            raise Killed
        self.now += STEP_SECONDS
        choices = self.choices
        position = choices.position
        if position < choices.quiet_until:
            choices.position = position + 1
        else:
            self._interrupted(process, choices.interruption(), what)
        if self.telling:
            self.tell(*what)

    def _interrupted(self, process: Process, how: int, what: tuple[object, ...]) -> None:
        if how >= KILL:
            if not self.faults:
                return
            self.faults -= 1
        if how == KILL:
            self.tell("is killed before:", *what)
            self.kills += 1
            process.kill()
            process.when_killed()
            raise Killed
        if how > KILL:
            self.stalls += 1
            seconds = STALLS[how - KILL - 1]
            self.tell(f"stalls for {seconds} s before:", *what)
            process.wake = self.now + seconds
            self._leave(process)
        elif how == OTHER or (how == NEW and self.waiting):
            if how == NEW:
                # The new process runs first.
                self.processes.insert(0, self.processes.pop(self.processes.index(self.waiting.pop()())))
            process.wake = self.now
            self._leave(process)

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass for the process."""
        process = self.current
        assert process is not None
        if process.dead:
            raise Killed
        process.wake = self.now + max(0.0, seconds)
        self._leave(process)

    def _leave(self, process: Process) -> None:
        """Let others go on until `run` chooses this process again: at once if it would be the only one."""
        wake = process.wake
        for other in self.processes:
            if other.wake <= wake and other is not process:
                self._main.switch()
                if process.dead:
                    raise Killed
                return
        self.now = max(self.now, wake)

    def end(self) -> None:
        """End the processes that are left, so that none has an effect in a later history."""
        for process in self.processes:
            process.kill()
        self.waiting.clear()
        self.run()

    def fault(self, count: int, chance: float) -> int:
        """Return which of `count` faults comes here, 0 for none."""
        if not self.faults or self.current is None:
            return 0
        found = self.choices.choose(count + 1, chance)
        if found:
            self.faults -= 1
        return found

    def tell(self, *what: object) -> None:
        """Add a line to the story of this history."""
        if self.telling:
            name = f"{self.current.name} on {self.host}" if self.current else "world"
            self.story.append(f"{self.now - 1_800_000_000:9.3f} {name}: {' '.join(map(str, what))}")
