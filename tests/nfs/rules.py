"""In the guest: what clients of one server do to each other. It prints what did not hold, by rule, as JSON."""

from __future__ import annotations

import errno
import json
import os
import random
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from threading import Barrier, Thread
from typing import TYPE_CHECKING

from paislurm.translator.files.lock import Lock
from paislurm.translator.files.names import JOURNAL
from paislurm.translator.files.private import remove_tree
from paislurm.translator.files.shared_files import SharedFiles
from paislurm.translator.state.address import publish, stage
from paislurm.translator.state.job_folder import Store
from tests.cluster.cluster import Cluster
from tests.cluster.hosts import enter
from tests.cluster.instance import LOGIN, default_instance
from tests.cluster.kinds import KINDS
from tests.nfs.mounts import CACHED, NEWER, SOFT, NfsServer

if TYPE_CHECKING:
    from collections.abc import Callable

LOCKED_SECONDS = 30
SUBMITS = int(os.environ.get("PAISLURM_NFS_SUBMITS", "50"))
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT


class Clients:
    """The server, and its folder as hosts see it: the second gives up after some seconds, the third has NFS 4.2."""

    def __init__(self, server: NfsServer) -> None:
        self.server = server
        self.one, self.other, self.newer = (self.seen(host) for host in (LOGIN, "n2", "n1"))

    def seen(self, host: str) -> Path:
        """Return where this process finds a host's mount."""
        pid = enter(self.server.instance, host)[1].partition("=")[2]
        return Path(f"/proc/{pid}/root{self.server.home}")


def a_missing_name_is_remembered(clients: Clients) -> None:
    """A folder's names are trusted for 30 s, or until the folder is listed."""
    for _ in range(2):
        assert not (clients.one / "new").exists()
    (clients.other / "new").touch()
    assert not (clients.one / "new").exists()
    assert "new" in {path.name for path in clients.one.iterdir()}
    assert (clients.one / "new").exists()


def only_one_client_makes_a_name(clients: Clients) -> None:
    """The server decides, whatever a client remembers."""
    (clients.one / "file").touch()
    for name, make in {
        "folder": lambda path: path.mkdir(),
        "excl": lambda path: path.touch(exist_ok=False),
        "link": lambda path: path.hardlink_to(path.with_name("file")),
    }.items():
        assert not (clients.other / name).exists()
        make(clients.one / name)
        with_error(errno.EEXIST, lambda make=make, name=name: make(clients.other / name))


def opening_asks_the_server(clients: Clients) -> None:
    """Data that are closed on one client are read by who opens the file after that on the other."""
    for text in ("first", "second, longer", "third"):
        (clients.one / "data").write_text(text)
        assert (clients.other / "data").read_text() == text


def two_that_append_at_once_lose_a_line(clients: Clients) -> None:
    """The end of a file is that of the client's last look."""
    (clients.one / "log").touch()
    opened = [os.open(path / "log", _APPEND) for path in (clients.one, clients.other)]
    for number, descriptor in enumerate(opened):
        os.write(descriptor, f"line {number}\n".encode())
    for descriptor in opened:
        os.close(descriptor)
    assert (clients.server.home / "log").read_text() == "line 1\n"


def a_file_that_another_client_removed_is_stale(clients: Clients) -> None:
    """Its own removals a client hides by a name `.nfs*`."""
    for name, by, number in (("own", clients.one, 0), ("stale", clients.other, errno.ESTALE)):
        (clients.one / name).write_text("text")
        list(clients.other.iterdir())
        with (clients.one / name).open() as file:
            (by / name).unlink()
            # The server has the file open for some seconds more.
            time.sleep(5)
            with_error(number, lambda file=file: os.utime(file.fileno()))


def an_answer_is_lost(clients: Clients) -> None:
    """A client that made a folder is told that it exists already; an exclusive creation is recognized."""
    assert _lost_answer(clients, Path.mkdir, "made") == errno.EEXIST
    assert _lost_answer(clients, lambda path: path.touch(exist_ok=False), "created") == 0


def _lost_answer(clients: Clients, make: Callable[[Path], object], name: str) -> int:
    told: list[int] = []

    def try_to() -> None:
        try:
            make(clients.one / name)
        except OSError as error:
            told.append(error.errno or 0)

    maker = Thread(target=try_to)
    with clients.server.answers_lost(LOGIN):
        maker.start()
        until = time.time() + 30
        while not (clients.server.home / name).exists() and time.time() < until:
            time.sleep(0.05)
    maker.join(60)
    return sum(told)


def a_client_that_gives_up_reports_an_error(clients: Clients) -> None:
    """Only where it is mounted so."""
    with clients.server.requests_lost("n2"):
        try:
            (clients.other / "cut").touch()
        except OSError as error:
            assert error.errno in (errno.EIO, errno.ETIMEDOUT), error
        else:
            raise AssertionError("it did not fail")


def a_full_disk_is_reported_when_data_reach_the_server(clients: Clients) -> None:
    """write(2) succeeds, fsync(2) fails."""
    with clients.server.disk_full():
        descriptor = os.open(clients.one / "full", _APPEND)
        os.write(descriptor, bytes(1 << 16))
        with_error(errno.ENOSPC, lambda: os.fsync(descriptor))
        with suppress(OSError):
            os.close(descriptor)


def the_lock_has_one_owner_at_a_time(clients: Clients) -> None:
    """Three processes on each of two clients take it in turns: what one holds, ends before the next begins."""
    folders = [folder / "locked" for folder in (clients.one, clients.newer) for _ in range(3)]
    folders[0].mkdir()
    with ProcessPoolExecutor(len(folders), get_context("fork")) as pool:
        held = [sorted(each) for each in pool.map(_hold, folders)]
    assert all(held), f"how often each held it: {[len(each) for each in held]}"
    times = sorted(each for process in held for each in process)
    assert all(one[1] <= other[0] for one, other in pairwise(times)), times


def _hold(folder: Path) -> list[tuple[float, float]]:
    """Take the lock again and again; return from when to when it was held."""
    held: list[tuple[float, float]] = []
    until = time.monotonic() + LOCKED_SECONDS
    while time.monotonic() < until:
        lock = Lock(SharedFiles(folder))
        if lock.take():
            begin = time.monotonic()
            time.sleep(0.01)
            held.append((begin, time.monotonic()))
            lock.give_up()
        # Without a pause its owner takes it again before another process has looked.
        time.sleep(random.uniform(0, 0.5))
    return held


def of_two_submits_of_a_name_one_gets_the_path(clients: Clients) -> None:
    """Each is at its path on the server, with its own files, whatever the clients remember."""
    homes = [folder / "home" for folder in (clients.one, clients.newer)]
    homes[0].mkdir()
    won: dict[str, bytes] = {}
    ready = Barrier(len(homes))
    with ThreadPoolExecutor(len(homes)) as pool:
        for number in range(SUBMITS):
            texts = [f"{number} {home}\n".encode() for home in homes]
            placed = list(pool.map(_submit, homes, texts, [ready] * len(homes)))
            assert any(placed), f"none of submit {number} has a path"
            for folder, text in zip(placed, texts, strict=True):
                assert folder not in won, f"two have {folder}"
                won |= {folder: text} if folder else {}
    jobs = clients.server.home / "home/jobs"
    assert {folder.name: (folder / JOURNAL).read_bytes() for folder in jobs.iterdir()} == won


def _submit(home: Path, text: bytes, ready: Barrier) -> str:
    """Give a new job its path; return its folder's name, "" if another one got the path."""
    store = Store(home)
    staged = stage(store, {JOURNAL: text})
    _, free = store.newest_and_free("alice~demo")
    ready.wait()
    if publish(staged, free):
        return free.name
    remove_tree(staged)
    return ""


def with_error(number: int, act: Callable[[], object]) -> None:
    """Check that a call fails with an error number, 0 for none."""
    try:
        act()
    except OSError as error:
        assert error.errno == number, error
    else:
        assert number == 0, "it did not fail"


RULES: tuple[Callable[[Clients], None], ...] = (
    a_missing_name_is_remembered,
    only_one_client_makes_a_name,
    opening_asks_the_server,
    two_that_append_at_once_lose_a_line,
    a_file_that_another_client_removed_is_stale,
    an_answer_is_lost,
    a_client_that_gives_up_reports_an_error,
    a_full_disk_is_reported_when_data_reach_the_server,
    the_lock_has_one_owner_at_a_time,
    of_two_submits_of_a_name_one_gets_the_path,
)


def broken(clients: Clients, rule: Callable[[Clients], None]) -> str:
    """Return why a rule does not hold, "" if it does."""
    try:
        rule(clients)
    except (AssertionError, OSError):
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    cluster = Cluster(default_instance(kind=KINDS["nfs"]))
    cluster.up()
    nfs = NfsServer(cluster.instance, {LOGIN: CACHED, "n2": CACHED + SOFT, "n1": NEWER})
    nfs.start()
    json.dump({rule.__name__: broken(Clients(nfs), rule) for rule in RULES}, sys.stdout)
