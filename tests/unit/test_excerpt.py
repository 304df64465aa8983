"""Text for a terminal: a line with a caret under the column, and aligned columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.terminal_text import WIDTH, columns_text, excerpt, pairs_text


@pytest.mark.parametrize(
    ("source", "column", "before", "under"),
    [
        ("gpu: -1", 6, "gpu: ", "-"),
        ("\tgpu: -1", 7, "    gpu: ", "-"),
        ("\x1b[2Jx: 1", 5, "\\x1b[2J", "x"),
        ("a", 2, "a", ""),
        ("a", 99, "a", ""),
        ("a", 0, "", "a"),
    ],
)
def test_the_caret_is_below_the_column(source: str, column: int, before: str, under: str) -> None:
    line, caret = excerpt(source, 7, column).split("\n")
    assert line.startswith(f"  7 | {before}{under}")
    assert caret == f"    | {' ' * len(before)}^"


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert excerpt("名前: x", 1, 5).split("\n")[1] == "    | " + " " * 6 + "^"
    assert excerpt("e\u0301: x", 1, 5).split("\n")[1] == "    | " + " " * 3 + "^"


def test_a_long_line_is_cut_around_the_column() -> None:
    line, caret = excerpt("x" * 5000 + "HERE" + "y" * 5000, 12, 5001).split("\n")
    assert len(line) <= WIDTH + 8
    assert line[caret.index("^") :].startswith("HERE")
    assert (line[6], line[-1]) == ("…", "…")


def test_a_blank_line_is_not_shown() -> None:
    assert excerpt("  \t", 3, 1) == excerpt("", 3, 1) == ""


@given(st.text(max_size=300), st.integers(0, 400))
def test_control_characters_are_escaped(source: str, column: int) -> None:
    shown = excerpt(source, 1, column)
    assert shown.replace("\n", "", 1).isprintable()
    assert shown.count("\n") == (1 if source.strip() else 0)


def test_columns_are_aligned() -> None:
    assert columns_text([("ROLE", "TASKS", ""), ("worker", "2", ""), ("ps", "10", "x")]) == (
        "ROLE    TASKS\nworker  2\nps      10     x"
    )
    assert columns_text([("ONE",)]) == "ONE"


def test_pairs_are_aligned() -> None:
    assert pairs_text([("job", "demo"), ("reason", ""), ("time", "1:00:00")]) == "job     demo\ntime    1:00:00"
    assert pairs_text([]) == ""
