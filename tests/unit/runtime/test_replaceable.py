"""Whether others can replace a path: one table, for the rule of the program and that of the runtime."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from paislurm.translator.files.private import replaceable
from tests.cluster.instance import GROUP

from .test_another_user import ALICE, BOB, run_as_alice, shared

pytestmark = pytest.mark.root("to be two users")
__all__ = ["shared"]

Folders = dict[str, tuple[int, int]]
CASES: tuple[tuple[str, Folders, dict[str, tuple[int, str]], str, str], ...] = (
    # name, folders with owner and mode, links with owner and target, path below the case's folder, the unsafe one
    ("own", {"a": (ALICE, 0o755), "a/b": (ALICE, 0o700)}, {}, "a/b/job", ""),
    ("root's", {"a": (0, 0o755), "a/b": (0, 0o2755)}, {}, "a/b/job", ""),
    ("another's", {"a": (ALICE, 0o755), "a/b": (BOB, 0o755)}, {}, "a/b/job", "a/b"),
    ("above another's", {"a": (BOB, 0o755), "a/b": (ALICE, 0o700)}, {}, "a/b/job", "a"),
    ("another's, sticky", {"a": (BOB, 0o1777)}, {}, "a/job", "a"),
    ("sticky", {"a": (0, 0o1777), "a/b": (ALICE, 0o700)}, {}, "a/b/job", ""),
    ("own, sticky", {"a": (ALICE, 0o1777)}, {}, "a/job", ""),
    ("sticky and setgid", {"a": (0, 0o3777)}, {}, "a/job", ""),
    ("group", {"a": (ALICE, 0o775)}, {}, "a/job", "a"),
    ("project", {"a": (0, 0o2770), "a/b": (ALICE, 0o700)}, {}, "a/b/job", "a"),
    ("project, private to the group", {"a": (ALICE, 0o2750), "a/b": (ALICE, 0o2700)}, {}, "a/b/job", ""),
    ("all", {"a": (0, 0o777), "a/b": (ALICE, 0o700)}, {}, "a/b/job", "a"),
    ("others alone", {"a": (ALICE, 0o702)}, {}, "a/job", "a"),
    ("the path itself", {"a": (ALICE, 0o700), "a/job": (BOB, 0o777)}, {}, "a/job", ""),
    ("missing", {"a": (ALICE, 0o777)}, {}, "a/b/c/job", "a"),
    ("closed", {"a": (BOB, 0o711), "a/b": (BOB, 0o700), "a/b/c": (BOB, 0o777)}, {}, "a/b/c/job", "a"),
    ("link", {"a": (ALICE, 0o755)}, {"b": (ALICE, "a")}, "b/job", ""),
    ("link of root", {"a": (ALICE, 0o755)}, {"b": (0, "a")}, "b/job", ""),
    ("link of another", {"a": (ALICE, 0o755)}, {"b": (BOB, "a")}, "b/job", "b"),
    ("the path is a link", {"a": (ALICE, 0o755)}, {"a/job": (BOB, "x")}, "a/job", "a/job"),
    ("link into an open one", {"a": (ALICE, 0o777), "a/b": (ALICE, 0o700)}, {"c": (ALICE, "a/b")}, "c/job", "a"),
    ("absolute link", {"a": (BOB, 0o755), "a/b": (ALICE, 0o700)}, {"c": (ALICE, "ROOM/a/./b//")}, "c/job", "a"),
    ("link through ..", {"a": (BOB, 0o755), "d": (ALICE, 0o755)}, {"d/c": (ALICE, "../a")}, "d/c/job", "a"),
    ("link to a link", {"a": (ALICE, 0o755)}, {"b": (BOB, "a"), "c": (ALICE, "b")}, "c/job", "b"),
    ("link to nothing", {}, {"b": (BOB, "nothing/more")}, "b/job", "b"),
    ("circle", {"a": (ALICE, 0o755)}, {"b": (ALICE, "c"), "c": (ALICE, "b")}, "b/job", ""),
    ("..", {"a": (ALICE, 0o755), "b": (BOB, 0o755)}, {}, "b/../a/job", "b"),
    (".. behind a link", {"a": (BOB, 0o755), "a/b": (ALICE, 0o755)}, {"c": (ALICE, "a/b")}, "c/../job", "a"),
    (". and //", {"a": (ALICE, 0o755), "a/b": (ALICE, 0o777)}, {}, "a/.//b/./job/", "a/b"),
    ("blanks", {"a  $(b)": (ALICE, 0o777)}, {}, "a  $(b)/job", "a  $(b)"),
)


@pytest.fixture
def paths(shared: Path) -> list[str]:
    """Make all cases, and return their paths."""
    found = []
    for number, (_, folders, links, path, _) in enumerate(CASES):
        room = shared / str(number)
        room.mkdir(mode=0o755)
        for name, (owner, mode) in folders.items():
            (room / name).mkdir()
            (room / name).chmod(mode)
            os.chown(room / name, owner, GROUP)
        for name, (owner, target) in links.items():
            (room / name).symlink_to(target.replace("ROOM", str(room)))
            os.chown(room / name, owner, GROUP, follow_symlinks=False)
        found.append(f"{room}/{path}")
    return found


def of_program(paths: list[str], user: int) -> Iterator[str]:
    """Yield the first reason for each path, as a user."""
    os.seteuid(user)
    try:
        for path in paths:
            yield next((why for why, _ in replaceable((Path(path),))), "")
    finally:
        os.seteuid(0)


def test_the_runtime_has_the_rule_of_the_program(shared: Path, paths: list[str]) -> None:
    words = " ".join(f"'{path}'" for path in paths)
    code = f'for path in {words}; do if why=$(replaceable "$path"); then echo "$why"; else echo; fi; done'
    printed, said = run_as_alice(shared, code)
    assert said == ""
    reasons = printed.split("\n")[:-1]
    assert reasons == list(of_program(paths, ALICE))
    for number, (name, *_, unsafe) in enumerate(CASES):
        assert (f"{shared}/{number}/{unsafe} " in f"{reasons[number]} ") == bool(unsafe), name
        assert bool(reasons[number]) == bool(unsafe), name
