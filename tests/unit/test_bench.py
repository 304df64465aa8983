"""The benchmarks: each can run, some are chosen by name, and noise that hits one turn decides nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.bench import __main__ as bench
from tests.bench import measure
from tests.bench.measure import Note, Ratio, cpu_of_children, typical

BENCHES = dict(bench.BENCHES)
MODULES = {name: getattr(bench, name) for name in BENCHES}


def once(*things: Any, turns: int = 1, **options: Any) -> list[float]:  # noqa: ARG001 - as in times_of
    return measure.times_of(*things, turns=1, **options)


SMALL: dict[str, dict[str, Any]] = {
    "commands": {"JOBS": 2, "_times": partial(once, clock=cpu_of_children), "COMMANDS": ("check",)},
    "compiling": {"FEW": 1, "MANY": 2, "times_of": once},
    "roles": {"SIZES": (1, 2, 3), "times_of": once},
    "reading": {"times_of": once},
    "tasks": {"COUNTS": {8: 1.0, 16: 1.0}, "TURNS": 1},
    "large": {
        "SIZES": (8, 16), "LOCAL_TASKS": 2,
        "OTHERS": {"2 roles": {"roles": 2, "address": "node-address"}, "no gang allocation": {"gang": False}},
    },
    "watching": {"FEW": 1, "MANY": 2, "TURNS": 1, "IDLE_JOBS": 1, "WARM_SECONDS": 1, "IDLE_SECONDS": 1},
    "noticing": {"JOBS": 2, "WAITED_FOR": 1, "CACHES": (0,)},
    "logs": {"TASKS": 2, "PRINTING": 1, "LOOKS": 2, "times_of": once},
}  # fmt: skip
"""What makes each benchmark small: other values of names in its module. Those that boot clusters are in
tests/cluster/test_bench.py."""
NOT_STARTED = {"hour": "takes an hour", "peers": "installs other programs of the kind from PyPI"}
HELPERS = {"__init__", "__main__", "measure"}


def test_each_benchmark_is_started_by_a_test_or_says_why_not() -> None:
    found = {file.stem for file in Path(bench.__file__).parent.glob("*.py")} - HELPERS
    assert found == {*SMALL, *bench.BOOT_CLUSTERS, *NOT_STARTED}
    assert BENCHES.keys() == {*SMALL, *bench.BOOT_CLUSTERS}


@pytest.mark.slow("runs a benchmark")
@pytest.mark.parametrize("name", SMALL)
def test_each_benchmark_can_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether limits are kept is for `make bench`: so few turns tell nothing."""
    for constant, value in SMALL[name].items():
        monkeypatch.setattr(MODULES[name], constant, value)
    rows = list(MODULES[name].run())
    assert [row for row in rows if isinstance(row, Note) or not math.isfinite(row.ratio)] == []
    assert all(map(str, rows))


def ratio_of(name: str) -> Iterator[Ratio]:
    yield Ratio(f"that of {name}", 3, 1, 2 if name == "large" else 4)


@pytest.fixture
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "BENCHES", {name: partial(ratio_of, name) for name in bench.BENCHES})
    monkeypatch.setattr(bench.roles, "run", lambda *, peers: ratio_of(f"roles, peers: {peers}"))


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["bench", *words])
    return bench.main()


@pytest.mark.usefixtures("_stand_ins")
def test_an_exceeded_limit_exits_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--no-cluster") == 1
    said = capsys.readouterr().out
    assert (said.count("OVER"), "starting" in said) == (1, False)


def test_times_are_compared_in_alternating_runs() -> None:
    of_many, common = typical([[2.0, 4.0, 90.0], [1.0, 2.0, 3.0]])
    assert (of_many, common) == (4.0, 2.0)
