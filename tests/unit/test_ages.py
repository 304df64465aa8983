"""Ages as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.ages import age_seconds, age_text


@given(st.integers(1, 999_999), st.sampled_from("smhdw"))
def test_an_age_is_the_same_when_it_is_written_again(number: int, unit: str) -> None:
    seconds = age_seconds(f"{number}{unit}")
    assert seconds is not None
    assert seconds >= number
    written = age_text(seconds)
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    assert int(written[:-1]) * units[written[-1]] == seconds


@given(st.text(max_size=8))
def test_any_other_text_is_none(text: str) -> None:
    seconds = age_seconds(text)
    assert seconds is None or (text[:-1].isascii() and text[:-1].isdecimal() and text[-1] in "smhdw")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("2m", 120), ("1w", 604800), ("0d", None), ("1", None)])
def test_ages(text: str, seconds: int | None) -> None:
    assert age_seconds(text) == seconds
