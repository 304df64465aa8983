"""The order of all tests, by items that have what the order looks at."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.order import TOGETHER, ordered, stays_together

ROOT = Path(__file__).parents[2]


def item(nodeid: str, mark: str = "", slurm: str = "") -> Any:
    return SimpleNamespace(
        nodeid=nodeid,
        path=ROOT / nodeid.partition("::")[0],
        callspec=SimpleNamespace(params={"site": slurm}) if slurm else None,
        get_closest_marker=lambda name: name == mark,
    )


FILES = [item(f"tests/unit/test_{file}.py::test_{number}") for file in range(40) for number in range(3)]
BESIDE = [item(f"tests/contract/test_a.py::test[{slurm}-{number}]", "", slurm)
          for number in range(20) for slurm in ("own", "newest")]  # fmt: skip
LOST = [item(f"tests/contract/test_b.py::test[{number}]", "disruptive", "own") for number in range(3)]
ALONE = [item(f"tests/contract/test_c.py::test[{number}]", "exclusive", "own") for number in range(3)]
SAME = [item(f"{TOGETHER[0]}::test_{number}") for number in range(3)]
NAMES = [each.nodeid for each in ordered([*BESIDE, *LOST, *ALONE, *FILES, *SAME])]


def test_each_test_has_one_place() -> None:
    assert sorted(NAMES) == sorted(each.nodeid for each in [*BESIDE, *LOST, *ALONE, *FILES, *SAME])


def test_a_file_that_stays_together_is_in_order() -> None:
    assert [name for name in NAMES if name.startswith(TOGETHER)] == [each.nodeid for each in SAME]
    places = [NAMES.index(each.nodeid) for each in FILES]
    assert all(places[first : first + 3] == [*range(places[first], places[first] + 3)] for first in range(0, 120, 3))


@pytest.mark.parametrize("lane", [LOST, ALONE])
def test_tests_that_exclude_each_other_are_far_apart(lane: list[Any]) -> None:
    first, second, third = sorted(NAMES.index(each.nodeid) for each in lane)
    assert min(second - first, third - second) > 10


def test_tests_that_wait_are_beside_tests_that_compute_and_not_at_the_end() -> None:
    beside = [name.startswith("tests/contract/") for name in NAMES]
    assert all(any(beside[first : first + 15]) for first in range(0, 120, 15))
    assert all(not all(beside[first : first + 8]) for first in range(len(beside) - 7))
    assert not any(beside[-5:])


def test_who_needs_a_cluster_alone_comes_after_half_of_the_run() -> None:
    assert min(NAMES.index(each.nodeid) for each in ALONE) > len(NAMES) / 3


def test_files_of_a_cluster_are_given_out_test_by_test() -> None:
    assert [
        stays_together(f"{file}::test") for file in (TOGETHER[0], "tests/cluster/test_jobs.py", "tests/unit/a.py")
    ] == [
        True,
        False,
        True,
    ]
