"""A golden file that is no longer right says what has changed, and which command makes it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.compare import MAX_LINES, REMEDY, difference

if TYPE_CHECKING:
    from pathlib import Path


def test_a_difference_is_shown_with_the_command(tmp_path: Path) -> None:
    file = tmp_path / "case" / "plan.txt"
    file.parent.mkdir()
    file.write_bytes(b"one\ntwo\nthree\n")
    said = difference(file, b"one\n2\r\xff\nthree\n").split("\n")
    assert said[0] == "case/plan.txt is not what comes out now"
    assert said[1:3] == ["--- case/plan.txt, kept", "+++ case/plan.txt, now"]
    assert [line for line in said if line[:1] in "+-"][2:] == ["-two", "+2\\r\\xff"]
    assert said[-1] == REMEDY
    assert "`make golden`" in REMEDY


def test_a_long_difference_is_cut(tmp_path: Path) -> None:
    said = difference(tmp_path / "new.txt", b"a\n" * 1000).split("\n")
    assert len(said) == MAX_LINES + 3
    assert said[-2].endswith(" lines more")
