"""Moments of the protocol, such as "before intent", at which a history can stop one process and start others.

Random switches alone seldom meet the few steps between two effects that matter. So functions of the program are
wrapped: each tells the witness what happens, and names the moment.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from paislurm.translator.app.jobs import removing
from paislurm.translator.app.submit import new_folder
from paislurm.translator.files.lock import Lock
from paislurm.translator.monitor import poll
from paislurm.translator.state import job_folder
from paislurm.translator.state.job_folder import JobFolder

from .witness import MOMENT
from .world import Killed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from paislurm.translator.state.journal import JournalContents
    from paislurm.translator.state.journal_records import Record

    from .witness import Witness
    from .world import Process, World

BEFORE_RECORDS = ("intent", "submitted", "cancelled", "changed", "retry", "ended")
MOMENTS = (
    *(f"{when} {kind}" for kind in BEFORE_RECORDS for when in ("before", "after")),
    "after read", "before sbatch", "after sbatch", "before scancel", "after scancel", "after poll", "after search",
    "before publish", "after publish", "before undo", "before hide", "after hide",
    "before forget secrets", "after lock taken", "after lock released",
)  # fmt: skip
"""All moments, by the effects before or after which they lie."""


class When(Struct):
    """At the `nth` time of a moment in a process of `title` ("": any), start others, pause, fail to write, or die."""

    moment: str
    title: str = ""
    nth: int = 1
    starts: tuple[Callable[[], object], ...] = ()
    pause: float = 0.0
    torn: int = -1
    """Of the record that is written then, only so many bytes reach the disk; -1: all of them."""
    dies: bool = False


class Moments:
    """The moments of a history, and what happens at them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.plan: list[When] = []

    def at(self, moment: str) -> When | None:
        """Let happen what is planned for this moment in the current process, and return it."""
        process = self.world.current
        if process is None or not self.plan:
            return None
        for when in self.plan:
            if when.moment == moment and process.name.startswith(when.title):
                when.nth -= 1
                if when.nth == 0:
                    self._happens(when)
                    return when
        return None

    def _happens(self, when: When) -> None:
        world = self.world
        process = world.current
        assert process is not None
        for start in when.starts:
            start()
        if when.dies:
            world.tell(f"is killed: {when.moment}")
            world.kills += 1
            process.kill()
            process.when_killed()
            raise Killed
        if when.pause:
            world.tell(f"pauses for {when.pause:g} s: {when.moment}")
            world.stalls += when.pause > MOMENT
            world.sleep(when.pause)


class _Wrapped:
    """The functions of the program that name their moments, and tell the witness what happens."""

    def __init__(self, moments: Moments, witness: Witness) -> None:
        self.moments = moments
        self.witness = witness
        self._appending: dict[Process | None, tuple[str, int]] = {}
        """The processes that append to a journal: the kind of record, and how much of it the disk has room for."""

    def append(self, real: Callable[..., None]) -> Callable[..., None]:
        def append(journal: Path, record: Record) -> None:
            kind = type(record).__name__.lower()
            when = self.moments.at(f"before {kind}")
            node = self.witness.writes(journal, record)
            process = self.moments.world.current
            self._appending[process] = kind, when.torn if when is not None else -1
            try:
                real(journal, record)
            finally:
                del self._appending[process]
                self.witness.is_over(node)
            self.witness.has_written(node, journal, record)
            self.moments.at(f"after {kind}")

        return append

    def write(self, real: Callable[[int, bytes], int]) -> Callable[[int, bytes], int]:
        def write(descriptor: int, data: bytes) -> int:
            world = self.moments.world
            kind, room = self._appending.get(world.current, ("", -1))
            if room < 0:
                count = real(descriptor, data)
                if kind:
                    self.moments.at(f"in {kind}")
                return count
            # The disk is full, for this write and the next.
            self._appending[world.current] = kind, 0
            world.tell(f"the disk is full after {room} bytes")
            if not room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(descriptor, data[:room])

        return write

    def read(self, real: Callable[[Path], JournalContents]) -> Callable[[Path], JournalContents]:
        def read(journal: Path) -> JournalContents:
            before = self.witness.journal(journal)
            found = real(journal)
            if self.witness.journal(journal) is before:
                self.witness.has_read(journal, before, found.records)
            self.moments.at("after read")
            return found

        return read

    def around(self, what: str, real: Callable[..., Any], then: Callable[..., object] | None = None) -> Any:
        def call(*words: Any) -> Any:
            self.moments.at(f"before {what}")
            found = real(*words)
            if then is not None:
                then(found, *words)
            self.moments.at(f"after {what}")
            return found

        return call

    def take(self, real: Callable[[Lock], bool]) -> Callable[[Lock], bool]:
        def take(lock: Lock) -> bool:
            began = self.witness.world.now
            mine = real(lock)
            if mine:
                self.witness.takes(lock, began)
                self.moments.at("after lock taken")
            return mine

        return take

    def beat(self, real: Callable[[Lock], Any]) -> Callable[[Lock], Any]:
        def beat(lock: Lock) -> Any:
            began = self.witness.world.now
            found = real(lock)
            self.witness.beats(lock, began)
            return found

        return beat

    def give_up(self, real: Callable[[Lock], None]) -> Callable[[Lock], None]:
        def give_up(lock: Lock) -> None:
            self.witness.gives_up(lock)
            real(lock)
            self.moments.at("after lock released")

        return give_up


@contextmanager
def watched(moments: Moments, witness: Witness) -> Iterator[None]:
    """Let the functions that change what processes share name their moments, and tell the witness."""
    wrapped = _Wrapped(moments, witness)
    wrappers: list[tuple[Any, str, Callable[..., Any]]] = [
        (os, "write", wrapped.write),
        (job_folder, "append", wrapped.append),
        (job_folder, "read", wrapped.read),
        (poll, "read", wrapped.read),
        (Lock, "take", wrapped.take),
        (Lock, "give_up", wrapped.give_up),
        (Lock, "beat", wrapped.beat),
        (Lock, "now", wrapped.beat),
        (JobFolder, "forget_secrets", partial(wrapped.around, "forget secrets")),
        (new_folder, "publish", partial(wrapped.around, "publish", then=witness.published)),
        (new_folder, "remove_tree", partial(wrapped.around, "undo")),
        (removing, "hide", partial(wrapped.around, "hide", then=witness.hidden)),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in wrappers]
    try:
        for (owner, name, real), (_, _, wrap) in zip(before, wrappers, strict=True):
            setattr(owner, name, wrap(real))
        yield
    finally:
        for owner, name, real in before:
            setattr(owner, name, real)
