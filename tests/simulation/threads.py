"""Events and threads of the program in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .world import Process, World


def event(world: Callable[[], World]) -> type:
    class Event:
        """threading.Event in virtual time."""

        def __init__(self) -> None:
            self._is_set = False
            self._waiting: list[Process] = []

        def set(self) -> None:
            self._is_set = True
            for process in self._waiting:
                process.wake = min(process.wake, world().now)

        def wait(self, timeout: float) -> bool:
            if not self._is_set:
                process = world().current
                assert process is not None
                self._waiting.append(process)
                world().sleep(timeout)
            return self._is_set

    return Event


def thread(world: Callable[[], World]) -> type:
    class Thread:
        """threading.Thread as a greenlet of the same process."""

        def __init__(self, target: Callable[..., object], args: tuple[object, ...] = (), **_: object) -> None:
            self._call = lambda: target(*args)
            self._process: Process | None = None

        def start(self) -> None:
            parent = world().current
            assert parent is not None
            self._process = world().spawn(f"{parent.name} (heartbeat)", parent.host, self._call)
            parent.threads.append(self._process)

        def join(self) -> None:
            while self._process is not None and not self._process.over:
                world().sleep(0.01)

    return Thread
