"""The forms of sbatch's are the same for job files, for site profiles and for the script."""

from __future__ import annotations

import contextlib
import string

import pytest

from paislurm.translator.protocol.extras_slurm import sbatch_value
from paislurm.translator.rendering.shell import sbatch_line
from paislurm.translator.sbatch_forms import is_plain, seconds_of


@pytest.mark.parametrize("char", [*string.punctuation, *string.whitespace, "\0", "\x1b", "\u2028", "\xa0", "é"])
def test_a_text_is_plain_to_all_or_to_none(char: str) -> None:
    text = f"a{char}b"
    plain = char not in "\"'`\\#" and char.isprintable() and char != " "
    assert is_plain(text) is plain
    with contextlib.nullcontext() if plain else pytest.raises(ValueError, match="text without blanks"):
        assert sbatch_value(text) == text
    with contextlib.nullcontext() if plain else pytest.raises(ValueError, match="cannot stand in an #SBATCH line"):
        assert sbatch_line("comment", text) == f"--comment={text}"


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [("90", 5400), ("1:30", 90), ("1:30:05", 5405), ("1-12", 129600), ("1-12:30", 131400), ("1-12:30:05", 131405)],
)
def test_time_limits(limit: str, seconds: int) -> None:
    assert seconds_of(limit) == seconds


@pytest.mark.parametrize("limit", ["", "-5", "1-", "1::2", "1:2:3:4", "1-2:3:4:5", "٣", "1_0", "1\n", "9" * 10])
def test_what_is_no_time_limit(limit: str) -> None:
    with pytest.raises(ValueError, match="invalid time limit"):
        seconds_of(limit)
