"""What is written in place of a value with a unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.protocol.extras_slurm import time_limit
from paislurm.translator.validation.schema_errors import IN_DIGITS, hint_at_time, hint_at_value

NUMBER = "a whole number"


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("10GB", "write `10240`: the unit is MiB"),
        ("10 GiB", "write `10240`: the unit is MiB"),
        ("1.5g", "write `1536`: the unit is MiB"),
        ("512M", "write `512`: the unit is MiB"),
        ("100KB", "write `1`: the unit is MiB"),
        ("1T", "write `1048576`: the unit is MiB"),
        ("8192", "remove the quotes: `8192`"),
        ("9" * 400, ""),
        ("much", IN_DIGITS),
        ("GB", IN_DIGITS),
        (2.5, ""),
    ],
)
def test_memory_with_a_unit_gets_a_hint(value: object, hint: str) -> None:
    assert hint_at_value("memoryMB", NUMBER, value) == hint


def test_a_unit_in_another_value_gets_no_memory_hint() -> None:
    assert hint_at_value("gpu", NUMBER, "2GB") == IN_DIGITS


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1hour", "01:00:00"),
        ("2h", "02:00:00"),
        ("90min", "01:30:00"),
        ("1h30m", "01:30:00"),
        ("1 day 2 hours", "1-02:00:00"),
        ("2d", "2-00:00:00"),
        ("45s", "00:00:45"),
        ("36 Hours", "1-12:00:00"),
        ("2weeks", "14-00:00:00"),
    ],
)
def test_a_time_in_words_gets_a_hint(text: str, time: str) -> None:
    assert hint_at_time(text) == f"write `{time}`"


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(1, 99))
def test_the_hint_is_a_limit_of_the_same_length(days: int, hours: int, minutes: int, seconds: int) -> None:
    hint = hint_at_time(f"{days}d {hours}h {minutes}m {seconds}s")
    limit = time_limit(hint.removeprefix("write `").removesuffix("`"))
    assert limit.total_seconds() == ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@given(st.text(max_size=20))
def test_any_text_has_a_hint_or_none(text: str) -> None:
    assert hint_at_time(text) == "" or any(letter.isdigit() for letter in text)
    assert isinstance(hint_at_value("memoryMB", NUMBER, text), str)
