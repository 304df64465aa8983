"""The order of all tests, by items that have what the order looks at."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


def test_files_of_a_cluster_are_given_out_test_by_test() -> None:
    assert [
        stays_together(f"{file}::test") for file in (TOGETHER[0], "tests/cluster/test_jobs.py", "tests/unit/a.py")
    ] == [
        True,
        False,
        True,
    ]
