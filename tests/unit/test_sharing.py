"""Several test processes share one cluster: who boots it, who takes it down, who has it alone."""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.instance import HOSTS, ClusterError, Instance
from tests.cluster.sharing import turn, use


def is_free(path: Path, how: int) -> bool:
    """Tell whether a process that comes now would get the lock."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@pytest.mark.parametrize(("alone", "others"), [(False, True), (True, False)])
def test_an_exclusive_test_blocks_other_tests(tmp_path: Path, alone: bool, others: bool) -> None:
    with turn(Instance(tmp_path), exclusive=alone, disruptive=False):
        assert is_free(tmp_path / "gate.lock", fcntl.LOCK_EX)
        assert is_free(tmp_path / "fragile.lock", fcntl.LOCK_EX)
        assert is_free(tmp_path / "room.lock", fcntl.LOCK_SH) == others
        assert not is_free(tmp_path / "room.lock", fcntl.LOCK_EX)
    assert is_free(tmp_path / "room.lock", fcntl.LOCK_EX)


def test_only_one_disruptive_test_runs_at_a_time(tmp_path: Path) -> None:
    with (
        turn(Instance(tmp_path), exclusive=False, disruptive=True),
        turn(Instance(tmp_path), exclusive=False, disruptive=False),
    ):
        assert not is_free(tmp_path / "fragile.lock", fcntl.LOCK_EX)


class Machine:
    """A cluster that only says what was done to it."""

    def __init__(self, folder: Path, *, boots: bool = True) -> None:
        self.instance = Instance(folder)
        self.done: list[str] = []
        self._boots = boots

    def boot(self) -> bool:
        self.done.append("boot")
        self.instance.run.mkdir(exist_ok=True)
        started = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
        for host in HOSTS:
            self.instance.pidfile(host).write_text(f"{os.getpid()} {started}\n", encoding="utf-8")
        return self._boots

    def down(self) -> None:
        self.done.append("down")

    def user(self, *, keep: bool = False) -> ExitStack:
        stack = ExitStack()
        stack.enter_context(use(self.instance, self.boot, self.down, keep=keep))
        return stack


def test_the_first_user_boots_and_the_last_stops_the_cluster(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    first, second = machine.user(), machine.user()
    assert machine.done == ["boot"]
    first.close()
    assert machine.done == ["boot"]
    second.close()
    assert machine.done == ["boot", "down"]


@pytest.mark.parametrize(("boots", "keep"), [(False, False), (True, True)])
def test_a_running_or_kept_cluster_is_not_stopped(tmp_path: Path, boots: bool, keep: bool) -> None:
    machine = Machine(tmp_path, boots=boots)
    machine.user(keep=keep).close()
    assert machine.done == ["boot"]


def test_without_a_successful_boot_there_is_no_cluster(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with (tmp_path / "users.lock").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with pytest.raises(ClusterError, match="could not boot"):
            machine.user()
    assert machine.done == []
