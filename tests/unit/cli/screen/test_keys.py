"""What a terminal sends, as keys: in one piece or in several."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.cli.screen.terminal import SEQUENCES, SINGLE, Keys

NAMES = {*SEQUENCES.values(), *SINGLE.values(), "escape"}


def typed(*pieces: bytes) -> list[str]:
    keys = Keys()
    return [key for piece in pieces for key in keys.feed(piece)] + keys.flush()


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b"q", ["q"]),
        (b"\x1b[A\x1bOBx", ["up", "down", "x"]),
        (b"\x1b[5~\x1b[6~", ["pageup", "pagedown"]),
        (b"\r\n\x7f", ["enter", "enter", "backspace"]),
        (b"\x1b", ["escape"]),
        (b"\x1b\x1b[A", ["escape", "up"]),
        (b"\x1bq", ["escape", "q"]),
        (b"\x1b[99;99Rq", ["q"]),
        ("é".encode(), ["é"]),
        (b"\x00\x01", []),
        (b"\x1b[" + b"1;" * 40 + b"A", ["escape"][:0]),
    ],
)
def test_input_bytes_are_parsed_into_keys(sent: bytes, keys: list[str]) -> None:
    found = typed(sent)
    assert found[: len(keys)] == keys
    assert len(sent) > 40 or found == keys


@given(st.lists(st.sampled_from([*SEQUENCES, "q", "\r", "ü", "7"]), max_size=8), st.data())
def test_keys_do_not_depend_on_how_input_is_split(words: list[str], data: st.DataObject) -> None:
    sent = "".join(f"\x1b{word}" if word in SEQUENCES else word for word in words).encode()
    cut = data.draw(st.integers(0, len(sent)))
    whole = [SEQUENCES.get(word) or SINGLE.get(word, word) for word in words]
    assert typed(sent) == typed(sent[:cut], sent[cut:]) == whole


@given(st.binary(max_size=200))
def test_any_input_gives_only_known_keys(sent: bytes) -> None:
    keys = Keys()
    found = keys.feed(sent) + keys.flush()
    assert all(key in NAMES or (len(key) == 1 and key.isprintable()) for key in found)
    assert not keys.pending
