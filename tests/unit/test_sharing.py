"""Several test processes share one cluster: who boots it, who takes it down, who has it alone."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from tests.cluster.instance import Instance
from tests.cluster.sharing import turn


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
