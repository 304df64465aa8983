"""The forms of sbatch's are the same for job files, for site profiles and for the script."""

from __future__ import annotations

import contextlib
import string

import pytest

from paislurm.translator.protocol.extras_slurm import sbatch_value
from paislurm.translator.rendering.shell import sbatch_line
from paislurm.translator.slurm_options import is_plain


@pytest.mark.parametrize("char", [*string.punctuation, *string.whitespace, "\0", "\x1b", "\u2028", "\xa0", "é"])
def test_all_functions_agree_on_plain_text(char: str) -> None:
    text = f"a{char}b"
    plain = char not in "\"'`\\#" and char.isprintable() and char != " "
    assert is_plain(text) is plain
    with contextlib.nullcontext() if plain else pytest.raises(ValueError, match="text without blanks"):
        assert sbatch_value(text) == text
    with contextlib.nullcontext() if plain else pytest.raises(ValueError, match="is not valid in an #SBATCH line"):
        assert sbatch_line("comment", text) == f"--comment={text}"
