"""Folded names are host lists as Slurm reads them, and name each once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.backends.hostlist import expand
from paislurm.translator.folded_names import by_numbers, folded, ranges

names = st.from_regex(r"[a-z][a-z.-]{0,3}[0-9]{0,4}", fullmatch=True)


@given(st.lists(names, max_size=40))
def test_every_folded_name_is_expanded_once(given_names: list[str]) -> None:
    assert sorted(expand(folded(given_names))) == sorted(set(given_names))


@pytest.mark.parametrize(
    ("given_names", "text"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n2", "n1", "n2"], "n[1-2]"),
        (["gpu08", "gpu09", "gpu10", "gpu12"], "gpu[08-10,12]"),
        (["localhost", "n10", "n9"], "localhost,n[9-10]"),
        (["a-1-x", "7", "8"], "[7-8],a-1-x"),
    ],
)
def test_names_are_folded_into_ranges(given_names: list[str], text: str) -> None:
    assert folded(given_names) == text


@given(st.sets(st.integers(0, 300)))
def test_ranges_name_every_number(numbers: set[int]) -> None:
    found: set[int] = set()
    for part in filter(None, ranges(numbers).split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    assert found == numbers


@given(st.lists(st.from_regex(r"[a-c._-]{0,2}([0-9]{1,20}[a-c._-]{0,2}){0,3}", fullmatch=True), max_size=20))
def test_the_sort_key_distinguishes_all_names(given_names: list[str]) -> None:
    found = sorted(given_names, key=by_numbers)
    assert len({by_numbers(name) for name in found}) == len(set(given_names))


@given(st.lists(st.integers(0, 10**6), max_size=20))
def test_numbers_in_names_are_sorted_numerically(numbers: list[int]) -> None:
    found = sorted((f"train-seed{number}-lr2" for number in numbers), key=by_numbers)
    assert found == [f"train-seed{number}-lr2" for number in sorted(numbers)]


def test_numbers_of_one_width_and_fractions_keep_their_order() -> None:
    for given_names in (["n08", "n09", "n10", "n11"], ["lr0_001-seed2", "lr0_01-seed1", "lr0_05", "lr0_1"]):
        assert sorted(set(given_names), key=by_numbers) == given_names
