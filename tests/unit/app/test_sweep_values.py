"""Tests of the values of `--sweep`, and of the names of their jobs."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.app.submit.sweep import LONGEST, endings
from paislurm.translator.app.submit.sweep_values import MAX_JOBS, points, values
from paislurm.translator.errors import UsageError
from paislurm.translator.protocol.overrides import value_of

any_text = st.text(st.characters(blacklist_categories=("Cs",)), max_size=12)
whole = st.integers(-40, 40)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0.1,0.01", ["0.1", "0.01"]),
        ("1..3,9,2", ["1", "2", "3", "9"]),
        ("3..1", ["3", "2", "1"]),
        ("0..1..0.25", ["0.00", "0.25", "0.50", "0.75", "1.00"]),
        ("0.1..0.3..0.1", ["0.1", "0.2", "0.3"]),
        ("1..0..0.5", ["1.0", "0.5", "0.0"]),
        ("1..0..-0.5", ["1.0", "0.5", "0.0"]),
        ("1..10..4", ["1", "5", "9"]),
        ("7..7", ["7"]),
        ("-1..1", ["-1", "0", "1"]),
        ("'1..3'", ["'1..3'"]),
        ("\"a,b\",'c,d',e", ['"a,b"', "'c,d'", "e"]),
        ("''", ["''"]),
        ("'a..b'", ["'a..b'"]),
        ("../data/5,a/../b,2024-01-05,10:30:00,1-x", ["../data/5", "a/../b", "2024-01-05", "10:30:00", "1-x"]),
        ("it's", ["it's"]),
    ],
)
def test_values(text: str, found: list[str]) -> None:
    assert values(text) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "a value is missing"),
        ("1,,2", "a value is missing"),
        ("'a,b", "'a has no closing quotation mark"),
        ("0.1..0.5", "needs a step"),
        ("1..3..0", "cannot be 0"),
        ("1..3..-1", "does not lead from 1 to 3"),
        ("3..1..+1", "does not lead from 3 to 1"),
        ("1..999999", f"more than {MAX_JOBS} values"),
        ("0..1..0.000000000000001", f"more than {MAX_JOBS} values"),
        ("1..9999,20000..29000", f"more than {MAX_JOBS} values"),
        ("3,1-5", "1-5 is not a range: write 1..5"),
        ("0.1:0.5", "0.1:0.5 is not a range: write 0.1..0.5..STEP"),
    ],
)
def test_wrong_values_are_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        values(text)


@pytest.mark.parametrize(
    "text",
    ["1..", "..5", "1...5", "1..x", "x..5", "1 .. 5", "1..2..3..4", "1..5..", "0...5...1", "-1..", "3,1..", "a..b"],
)
def test_an_incomplete_range_is_text_only_in_quotes(text: str) -> None:
    word = text.rpartition(",")[2]
    with pytest.raises(ValueError, match=f"^{re.escape(word)} is not a range FIRST..LAST or FIRST..LAST..STEP$"):
        values(text)
    assert values(f"'{word}'") == [f"'{word}'"]
    with pytest.raises(UsageError) as error:
        points([f"tag={text}"])
    ((code, hint),) = ((each.code, each.hint) for each in error.value.diagnostics)
    assert (code, "`seed=1..5`" in hint, "quote text" in hint) == ("E580", True, True)


@given(st.lists(any_text.filter(lambda text: '"' not in text), min_size=1, max_size=4))
def test_quoted_values_can_contain_any_text(texts: list[str]) -> None:
    found = values(",".join(f'"{text}"' for text in texts))
    assert [value_of(value) for value in found] == list(dict.fromkeys(texts))


@given(whole, whole, st.integers(1, 9), st.integers(0, 2))
def test_a_range_has_exact_steps_within_its_ends(first: int, last: int, step: int, decimals: int) -> None:
    width = Decimal(step).scaleb(-decimals)
    found = [Decimal(value) for value in values(f"{first}..{last}..{width:f}")]
    sign = 1 if last >= first else -1
    assert found == [first + sign * number * width for number in range(len(found))]
    assert 0 <= sign * (last - found[-1]) < width


@given(any_text)
def test_any_text_has_values_or_an_error_message(text: str) -> None:
    try:
        found = values(text)
    except ValueError as error:
        assert str(error)
    else:
        assert found
        assert all(found)
        assert len(set(found)) == len(found)


def test_the_last_parameter_changes_fastest() -> None:
    assert points(["a=1,2", "b='x..y',z"]) == [
        {"a": "1", "b": "'x..y'"},
        {"a": "1", "b": "z"},
        {"a": "2", "b": "'x..y'"},
        {"a": "2", "b": "z"},
    ]


def test_all_errors_are_reported_at_once() -> None:
    with pytest.raises(UsageError) as error:
        points(["a", "=1", "b=", "c=1,", "d=1", "d=2", "e=1"], own=["e"])
    assert [each.code for each in error.value.diagnostics] == ["E580"] * 6
    assert [each.message.partition(":")[0] for each in error.value.diagnostics][3:] == [
        "--sweep 'c=1,'",
        "--sweep 'd=2'",
        "--sweep 'e=1'",
    ]


def test_the_number_of_jobs_is_limited() -> None:
    with pytest.raises(UsageError, match="E581"):
        points(["a=1..200", "b=1..200"])


@given(st.lists(st.fixed_dictionaries({"lr": any_text, "name": any_text}), min_size=1, max_size=6))
def test_endings_are_valid_short_unique_and_independent_of_order(found: list[dict[str, str]]) -> None:
    unique = [dict(each) for each in {tuple(point.items()): point for point in found}.values()]
    made = endings(unique)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", each) and len(each) <= LONGEST for each in made)
    assert len({each.lower() for each in made}) == len(unique)
    assert endings(unique[::-1]) == made[::-1]


def test_endings_are_readable() -> None:
    assert endings(points(["lr=0.1,1e-3", "opt='adam w'"])) == ["-lr0_1-optadam_w", "-lr1e-3-optadam_w"]
