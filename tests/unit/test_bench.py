"""The benchmarks: some are chosen by name, and noise that hits one turn decides nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.bench import __main__ as bench
from tests.bench.measure import Ratio, typical

if TYPE_CHECKING:
    from collections.abc import Iterator


def ratio_of(name: str) -> Iterator[Ratio]:
    yield Ratio(f"that of {name}", 3, 1, 2 if name == "large" else 4)


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "BENCHES", {name: partial(ratio_of, name) for name in bench.BENCHES})
    monkeypatch.setattr(bench.roles, "run", lambda *, peers: ratio_of(f"roles, peers: {peers}"))


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["bench", *words])
    return bench.main()


def test_help_runs_no_benchmark(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, "--help")
    said = capsys.readouterr().out
    assert (ended.value.code, "that of" in said) == (0, False)
    assert "commands, compiling, roles" in " ".join(said.split())


def test_an_unknown_name_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, "tasks", "nosuch")
    assert ended.value.code == 2
    assert "no such benchmark: nosuch; there are commands" in capsys.readouterr().err


def test_benchmarks_can_be_selected_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "tasks", "roles", "--peers") == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.partition("that of ")[2].partition("  ")[0] for line in said] == ["roles, peers: True", "tasks"]


def test_an_exceeded_limit_exits_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--no-cluster") == 1
    said = capsys.readouterr().out
    assert (said.count("OVER"), "starting" in said) == (1, False)


def test_times_are_compared_in_alternating_runs() -> None:
    of_many, common = typical([[2.0, 4.0, 90.0], [1.0, 2.0, 3.0]])
    assert (of_many, common) == (4.0, 2.0)
