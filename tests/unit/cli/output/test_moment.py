"""Points in time as users write them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.app.input.moment import moment

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = 1_700_000_000


@pytest.fixture(autouse=True)
def _zone() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC-2")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", NOW - 30), ("5m", NOW - 300), ("2h", NOW - 7200), ("2d", NOW - 172_800), ("1w", NOW - 604_800),
        ("2023-11-14", 1_699_912_800), ("2023-11-14 10:00", 1_699_948_800), ("2023-11-14T10:00:05", 1_699_948_805),
        ("10:00", 1_700_035_200), ("", None), ("2", None), ("-2d", None), ("2 d", None), ("yesterday", None),
        ("2023-13-01", None), ("9" * 30 + "d", None),
    ],
)  # fmt: skip
def test_what_a_text_means(text: str, seconds: int | None) -> None:
    assert moment(text, NOW) == seconds


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    assert isinstance(moment(text, NOW), int | None)
