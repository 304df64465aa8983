"""One owner at a time, whatever the order in which two processes' operations on files happen."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from paislurm.translator.files.lock import ABANDONED_SECONDS, STALE_SECONDS, Lock
from paislurm.translator.files.shared_files import SharedFiles, Stamp


class Server:
    """A file server: names of files, and one clock."""

    def __init__(self) -> None:
        self.names: dict[str, list[float]] = {}
        self.clock = 1000.0

    def owner(self) -> list[float] | None:
        """Return the file that is the owner's."""
        numbers = [int(name[5:]) for name in self.names if name.startswith("lock.")]
        return self.names[f"lock.{max(numbers)}"] if numbers else None


class Client:
    """A process's view of the server; before each operation it waits for its turn."""

    def __init__(self, server: Server, turn: Callable[[], None] = lambda: None) -> None:
        self._server = server
        self._turn = turn

    def _stamp(self, file: list[float]) -> Stamp:
        return Stamp(id(file), file[0])

    def create(self, name: str, _: str) -> Stamp:
        self._turn()
        file = self._server.names[name] = [self._server.clock]
        return self._stamp(file)

    def link(self, old: str, new: str) -> bool:
        self._turn()
        return self._server.names.setdefault(new, self._server.names[old]) is self._server.names[old]

    def names(self) -> list[str]:
        self._turn()
        return list(self._server.names)

    def stamp(self, name: str) -> Stamp | None:
        self._turn()
        file = self._server.names.get(name)
        return self._stamp(file) if file else None

    def touch(self, name: str, *, at: float | None = None) -> bool:
        self._turn()
        file = self._server.names.get(name)
        if file:
            file[0] = self._server.clock if at is None else at
        return file is not None

    def remove(self, name: str) -> None:
        self._turn()
        self._server.names.pop(name, None)


class Process(threading.Thread):
    """A process that does one operation when it is told to, and stands still otherwise."""

    def __init__(self, server: Server, act: Callable[[Lock], object]) -> None:
        super().__init__(daemon=True)
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self.over = False
        self.answer: object = None
        self._lock = Lock(Client(server, self._wait))
        self._act = act
        self.start()
        self._stopped.acquire()

    def _wait(self) -> None:
        self._stopped.release()
        self._go.acquire()

    def run(self) -> None:
        self.answer = self._act(self._lock)
        self.over = True
        self._stopped.release()

    def step(self) -> None:
        """Do one operation, up to the next."""
        if not self.over:
            self._go.release()
            self._stopped.acquire()


def take_and_give_up(lock: Lock) -> bool:
    taken = lock.take()
    lock.give_up()
    return taken


def run(processes: list[Process], order: Iterable[int]) -> None:
    """Let processes do one operation each in this order, and then come to their ends."""
    for number in order:
        processes[number].step()
    for process in processes:
        while not process.over:
            process.step()


def orders(first: int, second: int) -> list[tuple[int, ...]]:
    """Return every order in which two processes can do so many operations."""
    places = itertools.combinations(range(first + second), first)
    return [tuple(0 if k in chosen else 1 for k in range(first + second)) for chosen in map(set, places)]


def owned() -> tuple[Server, Lock]:
    """Return a server, and the lock of the process that has it."""
    owner = Lock(Client(server := Server()))
    assert owner.take()
    return server, owner


OPERATIONS = 6
"""Of a `take`, up to the point from which on only what is old is removed."""


@pytest.mark.slow("every order of two processes, with a thread each")
@pytest.mark.parametrize("before", ["nothing", "given up", "stale"])
def test_only_one_of_two_processes_gets_the_lock_in_every_order(before: str) -> None:
    for order in orders(OPERATIONS, OPERATIONS):
        server = Server()
        if before != "nothing":
            server.names["lock.7"] = [0.0 if before == "given up" else server.clock - STALE_SECONDS - 1]
        processes = [Process(server, Lock.take) for _ in range(2)]
        run(processes, order)
        assert {process.answer for process in processes} == {False, True}, order
        assert [name for name in server.names if name != "lock.7"] == ["lock.8" if before != "nothing" else "lock.1"]


def test_a_live_owner_keeps_the_lock_in_every_order() -> None:
    for order in orders(OPERATIONS, 3):
        server, owner = owned()
        other = Process(server, Lock.take)
        beating = Process(server, lambda lock: [lock.beat() for _ in range(3)])
        beating._lock._number = 1
        run([other, beating], order)
        assert (other.answer, owner.holds_lock()) == (False, True)


@pytest.mark.slow("every order of two processes, with a thread each")
def test_a_lock_released_during_other_attempts_has_one_owner() -> None:
    """Whoever gets it, nobody gets it beside the first, and somebody can have it afterwards."""
    for order in orders(OPERATIONS + 2, OPERATIONS):
        server = Server()
        run(processes := [Process(server, take_and_give_up), Process(server, Lock.take)], order)
        assert any(process.answer for process in processes)
        last = Lock(Client(server))
        assert last.take() != bool(processes[1].answer), order


@given(
    some.lists(some.tuples(some.integers(0, 2), some.sampled_from([0, 0, 0, STALE_SECONDS // 2, STALE_SECONDS + 1]))),
    some.booleans(),
)
def test_suspended_processes_never_both_hold_the_lock(schedule: list[tuple[int, int]], left: bool) -> None:
    """Three processes, any of which may stand still until it is stale: `holds_lock` is true for one at most."""
    server = Server()
    if left:
        server.names["lock.3"] = [0.0]
    locks: list[Lock] = []

    def act(lock: Lock) -> bool:
        locks.append(lock)
        return lock.take()

    processes = [Process(server, act) for _ in range(3)]
    for number, pause in schedule:
        server.clock += pause
        processes[number].step()
    run(processes, ())
    for lock in locks:
        lock._files = Client(server)
    held = [lock for lock in locks if lock.holds_lock()]
    assert len(held) <= 1
    if held:
        assert server.owner() is not None
        assert id(server.owner()) == held[0]._inode


def test_a_replaced_owner_notices_the_loss() -> None:
    server, first = owned()
    second = Lock(Client(server))
    assert first.holds_lock()
    server.clock += STALE_SECONDS + 1
    assert second.take()
    assert (first.holds_lock(), second.holds_lock()) == (False, True)
    first.beat()
    first.give_up()
    assert second.holds_lock()
    assert not Lock(Client(server)).take()
    second.give_up()
    assert first.take()


def test_an_owner_whose_folder_was_removed_notices_a_new_owner() -> None:
    """The numbers begin anew, so both locks have the same name."""
    server, first = owned()
    second = Lock(Client(server))
    removed = dict(server.names)
    server.names.clear()
    assert second.take()
    assert server.names.keys() == removed.keys()
    assert (first.holds_lock(), second.holds_lock()) == (False, True)


def test_a_heartbeat_keeps_the_lock_and_a_future_time_does_not() -> None:
    server, owner = owned()
    for _ in range(5):
        server.clock += STALE_SECONDS - 1
        owner.beat()
        assert not Lock(Client(server)).take()
    assert Lock(Client(server)).owned()
    server.clock -= 3600
    assert Lock(Client(server)).take()


def test_a_process_that_stalls_before_it_reads_the_heartbeat_does_not_take_the_lock() -> None:
    server, owner = owned()
    other = Process(server, Lock.take)
    for _ in range(2):
        other.step()
    server.clock += 2 * STALE_SECONDS
    owner.beat()
    run([other], ())
    assert (other.answer, owner.holds_lock()) == (False, True)


def test_the_lock_works_on_a_real_file_system(tmp_path: Path) -> None:
    files = SharedFiles(tmp_path / "monitor")
    first, second = Lock(files, "first"), Lock(files, "second")
    assert not first.owned()
    with first.taken() as mine:
        assert mine
        assert first.holds_lock()
        assert second.owned()
        assert not second.take()
        assert abs(first.now() - int((tmp_path / "monitor").stat().st_mtime)) <= 1
    assert not second.owned()
    with second.taken() as mine:
        assert mine
    assert sorted(path.name for path in (tmp_path / "monitor").iterdir()) == ["lock.2"]
    assert (tmp_path / "monitor" / "lock.2").read_text() == "second"


def test_a_new_owner_removes_what_killed_processes_left(tmp_path: Path) -> None:
    names = ("lock.1", ".owner-0123456789abcdef", ".now-0123456789abcdef", ".ended.json.17", "calls.log")
    for age, folder in ((ABANDONED_SECONDS - 60, tmp_path / "new"), (ABANDONED_SECONDS + 60, tmp_path / "old")):
        folder.mkdir()
        for name in names:
            (folder / name).touch()
            os.utime(folder / name, (time.time() - age,) * 2)
        assert Lock(SharedFiles(folder)).take()
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"lock.2", *names[1:]}
    assert {path.name for path in (tmp_path / "old").iterdir()} == {"lock.2", "calls.log"}


def test_a_file_without_permissions_does_not_prevent_a_new_owner(tmp_path: Path) -> None:
    """NFS 3 creates a file without permissions, and sets them by a second call. Root could read it."""

    class Denied(SharedFiles):
        def stamp(self, name: str) -> Stamp | None:
            if name == ".owner-0123456789abcdef":
                raise PermissionError(13, "Permission denied")
            return super().stamp(name)

    (tmp_path / ".owner-0123456789abcdef").touch(0o000)
    lock = Lock(Denied(tmp_path))
    with lock.taken() as mine:
        assert mine
        assert lock.holds_lock()


def test_a_lock_in_an_unwritable_folder_cannot_be_taken(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lock = Lock(SharedFiles(tmp_path / "file" / "monitor"))
    with lock.taken() as mine:
        assert not mine
    assert lock.problem == "Not a directory"


def test_a_lock_can_be_taken_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", write)
    lock = Lock(SharedFiles(tmp_path), "first")
    with lock.taken() as mine:
        assert (mine, lock.problem) == (True, "")


def test_only_one_of_many_threads_gets_the_lock(tmp_path: Path) -> None:
    start = threading.Barrier(16)

    def race(_: int) -> bool:
        lock = Lock(SharedFiles(tmp_path))
        start.wait()
        return lock.take()

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(race, range(16))) == 1


@pytest.mark.parametrize("age", [0, 3600])
def test_a_named_pipe_in_place_of_a_lock_does_not_block(tmp_path: Path, age: int) -> None:
    """A lock it is, and one of its age: where it is a heartbeat's, it is somebody's."""
    os.mkfifo(tmp_path / "lock.3")
    then = time.time() - age
    os.utime(tmp_path / "lock.3", (then, then))
    lock = Lock(SharedFiles(tmp_path))
    assert lock.owned() == (age == 0)
    assert lock.take() == (age > 0)
