"""Times and durations: what people write, what Slurm writes, and what is shown."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.times import (
    DURATION_PATTERN,
    age,
    duration,
    duration_text,
    elapsed_text,
    moment,
    seconds_of,
    slurm_time,
)

NOW = 1_700_000_000
"""2023-11-15 00:13:20 in the zone of these tests."""
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604_800}
PARTS = st.lists(st.tuples(st.integers(0, 999_999_999), st.sampled_from("smhdw")), min_size=1, max_size=4)


@pytest.fixture(autouse=True, scope="module")
def _zone() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC-2")
        time.tzset()
        yield
    time.tzset()


@given(PARTS)
def test_a_duration_is_the_sum_of_its_parts(parts: list[tuple[int, str]]) -> None:
    text = "".join(f"{count}{unit}" for count, unit in parts)
    assert duration(text) == sum(count * UNITS[unit] for count, unit in parts)
    assert moment(text, NOW) == NOW - (duration(text) or 0)


@given(st.text(max_size=8) | st.text(alphabet="0123456789smhdw", max_size=8))
def test_any_other_text_is_not_a_duration(text: str) -> None:
    assert (duration(text) is None) == (re.fullmatch(DURATION_PATTERN, text) is None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", NOW - 30), ("1h30m", NOW - 5400), ("1w", NOW - 604_800), ("2023-11-14", 1_699_912_800),
        ("2023-11-14 10:00", 1_699_948_800), ("2023-11-14T10:00:05", 1_699_948_805),
        ("2023-11-14T08:00Z", 1_699_948_800), ("2023-11-14T10:00+02:00", 1_699_948_800),
        ("00:13", NOW - 20), ("0:13", NOW - 20), ("23:59", NOW - 860), ("10:00", 1_699_948_800),
        ("22:13:20+00:00", NOW), ("22:14Z", NOW + 40 - 86400),
        ("", None), ("2", None), ("10", None), ("-2d", None), ("2 d", None), ("yesterday", None), ("2023-13-01", None),
        ("25:00", None), ("2023-11-1410:00", None), ("9" * 30 + "d", None), ("٣d", None),
    ],
)  # fmt: skip
def test_moments_are_parsed(text: str, seconds: int | None) -> None:
    assert moment(text, NOW) == seconds


@given(st.text() | st.text(alphabet="0123456789smhdw:-+TZ. ", max_size=20))
def test_any_text_gives_a_moment_or_none(text: str) -> None:
    assert isinstance(moment(text, NOW), int | None)


@given(st.times(), st.integers(0, 2**31), st.sampled_from(("", "Z", "-11:00", "+05:30")))
def test_a_time_without_a_day_is_the_last_one(clock: object, now: int, zone: str) -> None:
    found = moment(f"{str(clock)[:5]}{zone}", now)
    assert found is not None
    assert now - 86400 < found <= now


@given(st.datetimes(timezones=st.just(timezone.utc)))
def test_a_full_date_and_time_is_exact(when: datetime) -> None:
    when = when.replace(microsecond=0)
    assert moment(f"{when:%Y-%m-%dT%H:%M:%S}Z".zfill(20), NOW) == int(when.timestamp())


@given(st.integers(0, 10**9))
def test_a_duration_in_slurm_format_is_read_back(seconds: int) -> None:
    assert seconds_of(elapsed_text(seconds)) == seconds
    limit = seconds_of(slurm_time(timedelta(seconds=seconds)))
    assert 0 <= limit - seconds < 60


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [("90", 5400), ("1:30", 90), ("1:30:05", 5405), ("1-12", 129600), ("1-12:30", 131400), ("1-12:30:05", 131405)],
)
def test_time_limits(limit: str, seconds: int) -> None:
    assert seconds_of(limit) == seconds


@pytest.mark.parametrize("limit", ["", "-5", "1-", "1::2", "1:2:3:4", "1-2:3:4:5", "٣", "1_0", "1\n", "9" * 10])
def test_invalid_time_limits_are_refused(limit: str) -> None:
    with pytest.raises(ValueError, match="invalid time limit"):
        seconds_of(limit)


def test_durations_are_in_their_two_largest_units() -> None:
    texts = [duration_text(seconds) for seconds in (None, -1, 0, 59, 60, 90, 3600, 3661, 90_000, 2_592_000)]
    assert texts == ["-", "-", "0 s", "59 s", "1 min", "1 min 30 s", "1 h", "1 h 1 min", "1 d 1 h", "30 d"]


def test_an_age_is_in_its_largest_unit() -> None:
    assert [age(seconds) for seconds in (-1, 59, 60, 7300, 86400, 864_000)] == ["0s", "59s", "1m", "2h", "1d", "10d"]
