"""The columns of `list`: what they say, how jobs stand by them, and what fits a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.cli.output.job_table import (
    COLUMNS,
    DEFAULT_COLUMNS,
    MIN_NAME,
    cells,
    column,
    fitted,
    sorted_lines,
)
from paislurm.translator.times import aware
from paislurm.translator.view.line import JobLine

NOW = 100_000


def line(**changes: Any) -> JobLine:
    values: dict[str, Any] = {
        "name": "alice~demo", "job": "demo", "user": "alice", "state": "RUNNING", "exit_code": None, "reason": None,
        "attempt": 1, "retries": 1, "backend": "slurm", "job_id": "7;far", "completed": 1, "task_count": 2,
        "created_at": NOW - 400, "submitted_at": NOW - 300, "ended": False, "folder": "/home/alice",
        "started_at": NOW - 93784, "ended_at": None, "node_list": "n[1-2]", "virtual_cluster": "vc",
        "partition": "gpu", "parameters": {"lr": "0.1"},
    }  # fmt: skip
    values |= changes
    return JobLine(**values | {key: aware(value) for key, value in values.items() if key.endswith("_at")})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("name", "alice~demo"), ("state", "RUNNING"), ("code", "-"), ("id", "7;far"), ("done", "1 of 2"),
        ("tasks", "2"), ("age", "5m"), ("elapsed", "1-02:03:04"), ("start", "-"), ("partition", "gpu"), ("vc", "vc"),
        ("reason", "-"), ("help", "-"), ("nodes", "n[1-2]"), ("attempt", "2"), ("backend", "slurm"),
        ("user", "alice"), ("folder", "/home/alice"), ("ended", "-"), ("param.lr", "0.1"), ("param.x", "-"),
    ],
)  # fmt: skip
def test_each_column_shows_its_value(name: str, text: str) -> None:
    assert cells([line()], [name], NOW) == [(text,)]


@pytest.mark.parametrize(("code", "text"), [(0, "0"), (None, "-"), (255, "255")])
def test_a_job_that_succeeded_has_the_code_0(code: int | None, text: str) -> None:
    assert cells([line(exit_code=code)], ["code"], NOW) == [(text,)]


def test_an_unreadable_job_has_dashes() -> None:
    unknown = line(readable=False, submitted_at=None, created_at=None, started_at=None)
    assert cells([unknown], ["done", "tasks", "submitted", "age", "elapsed", "attempt"], NOW) == [("-",) * 6]


def test_a_job_without_started_tasks_has_no_run_time() -> None:
    waits = line(state="WAITING", reason="the nodes are allocated, the tasks are starting")
    assert cells([waits], ["elapsed"], NOW) == [("-",)]
    assert sorted_lines([waits, line(name="alice~runs")], "elapsed", NOW)[0].name == "alice~runs"


def test_unknown_columns_are_refused() -> None:
    assert [column(name) for name in ("", "nme", "param.", "param")] == [None] * 4


@pytest.mark.parametrize("name", [*COLUMNS, "param.lr"])
def test_jobs_are_sorted_by_every_column_and_none_is_lost(name: str) -> None:
    jobs = [line(), line(name="alice~x", job_id="", completed=None, started_at=None, parameters={}), line(name="b~y")]
    for by in (name, f"-{name}"):
        assert sorted(each.name for each in sorted_lines(jobs, by, NOW)) == ["alice~demo", "alice~x", "b~y"]


def test_job_ids_are_sorted_as_numbers_with_unknown_ones_last() -> None:
    jobs = [line(name=f"a~{word}", job_id=word) for word in ("100", "", "9", "20;far")]
    for by, ids in (("id", ["9", "20;far", "100", ""]), ("-id", ["100", "20;far", "9", ""])):
        assert [each.job_id for each in sorted_lines(jobs, by, NOW)] == ids


def test_long_names_are_cut_on_a_terminal_of_80_characters() -> None:
    jobs = [line(name="alice~" + "n" * 200, reason="r" * 300), line(name="alice~short")]
    columns, rows = fitted(DEFAULT_COLUMNS, cells(jobs, DEFAULT_COLUMNS, NOW), 80)
    assert "reason" not in columns
    assert (rows[0][0][-2:], rows[1][0]) == ("n…", "alice~short")
    assert _width(columns, rows) <= 80


def test_a_wide_terminal_shows_reasons() -> None:
    jobs = [line(reason="r" * 300), line(reason="why")]
    columns, rows = fitted(DEFAULT_COLUMNS, cells(jobs, DEFAULT_COLUMNS, NOW), 160)
    assert (columns, _width(columns, rows)) == (DEFAULT_COLUMNS, 160)
    assert (rows[0][-1][-1], rows[1][-1]) == ("…", "why")


@given(st.text("ab…", max_size=200), st.text("cd", max_size=200), st.integers(0, 300))
def test_cut_names_are_prefixes_of_the_full_names(name: str, reason: str, width: int) -> None:
    rows = cells([line(name=f"a~{name}", reason=reason)], ("name", "state", "reason"), NOW)
    columns, [row] = fitted(("name", "state", "reason"), rows, width)
    assert columns[0] == "name"
    assert f"a~{name}".startswith(row[0].removesuffix("…") if row[0] != f"a~{name}" else row[0])
    assert len(row[0]) >= min(len(name) + 2, MIN_NAME)


def _width(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> int:
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    return sum(widths) + 2 * (len(widths) - 1)
