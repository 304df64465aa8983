"""Columns are as wide as what stands in them."""

from __future__ import annotations

from paislurm.translator.terminal_text import columns_text, pairs_text


def test_columns_are_aligned() -> None:
    assert columns_text([("ROLE", "TASKS", ""), ("worker", "2", ""), ("ps", "10", "x")]) == (
        "ROLE    TASKS\nworker  2\nps      10     x"
    )
    assert columns_text([("ONE",)]) == "ONE"


def test_pairs_are_aligned() -> None:
    assert pairs_text([("job", "demo"), ("reason", ""), ("time", "1:00:00")]) == "job     demo\ntime    1:00:00"
    assert pairs_text([]) == ""
