"""Several test processes on one cluster: who boots it, who takes it down, and who has it alone for a while."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from typing import TYPE_CHECKING

from tests.cluster.hosts import seen
from tests.cluster.instance import ClusterError, Instance, require_privilege
from tests.cluster.processes import recorded_pid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOCKS = ("fragile.lock", "gate.lock", "room.lock")


@contextlib.contextmanager
def turn(instance: Instance, *, exclusive: bool, disruptive: bool) -> Iterator[None]:
    """Have the cluster with others, or alone: then everyone else's turn has ended, and none begins before this ends.

    Who waits to be alone keeps the gate, so that those who come later cannot keep it waiting for ever. One at a time
    is `disruptive`: it takes nodes away that no one else uses.
    """
    instance.folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        nodes, gate, room = (stack.enter_context((instance.folder / name).open("w")) for name in LOCKS)
        if disruptive:
            fcntl.flock(nodes, fcntl.LOCK_EX)
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


@contextlib.contextmanager
def use(instance: Instance, boot: Callable[[], bool], down: Callable[[], None], *, keep: bool) -> Iterator[None]:
    """Use the cluster: the first process boots it, the last one takes it down if it was booted for tests.

    Only who is the first asks whether the cluster is well: later a test may have broken something on purpose.
    With `keep` a cluster that is booted now stays up. ClusterError if there is no cluster.
    """
    instance.folder.mkdir(parents=True, exist_ok=True)
    for_tests = instance.folder / "run" / "for-tests"
    with (instance.folder / "users.lock").open("w") as users:
        if alone_with(users.fileno()):
            if boot() and not keep:
                for_tests.touch()
            fcntl.flock(users, fcntl.LOCK_SH)
        else:
            # Who boots it lets nobody else in before it is up.
            fcntl.flock(users, fcntl.LOCK_SH)
            if not all(recorded_pid(instance.pidfile(host)) for host in instance.hosts):
                raise ClusterError(f"another process could not boot the cluster in {instance.folder}")
        try:
            yield
        finally:
            if alone_with(users.fileno()) and for_tests.exists():
                down()


@contextlib.contextmanager
def small_file_system(instance: Instance) -> Iterator[Path]:
    """Have the file system of 4 MiB alone, and empty; return its path on the hosts."""
    require_privilege("a file system of its own")
    with (instance.folder / "small.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield instance.small
        finally:
            for path in seen(instance, instance.small).iterdir():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def alone_with(lock: int) -> bool:
    """Take the lock for this process alone; False, without what it held, if another process has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
