"""Each kind of fault has a file here, and what is said of it is fixed, byte for byte."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.validation.diagnostic_codes import CODES
from tests.compare import difference

from .remake import FILES, FOLDER, said_of

if TYPE_CHECKING:
    from pathlib import Path

ELSEWHERE = {"E103", "E310", "E337", "W321", "W341", "W342", "E466"}
"""Codes whose file or codeDir would be too large to keep, tested with the reader and `check`, what the converter says,
tested with it, and what is said of two site profiles together, tested with their layers."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_output_matches_the_recorded_text(file: Path) -> None:
    said = said_of(file)
    if changed := difference(file.with_suffix(".txt"), said.encode()):
        pytest.fail(changed, pytrace=False)
    code = re.match(r"(?:site-)?([EW]\d+)-", file.name)
    assert code is not None
    assert f" {code[1]}: " in said


def test_every_recorded_text_has_a_job_file() -> None:
    assert {file.stem for file in FOLDER.glob("*.txt")} == {file.stem for file in FILES}


def test_every_code_has_a_recorded_text() -> None:
    texts = "".join(file.read_text(encoding="utf-8") for file in FOLDER.glob("*.txt"))
    said = set(re.findall(r"^(?:error|warning) ([EW]\d+): ", texts, re.MULTILINE))
    assert said == set(CODES) - ELSEWHERE


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_reported_locations_exist_in_the_file(file: Path) -> None:
    lines = file.read_bytes().decode("utf-8", errors="replace").split("\n")
    for line, column in re.findall(r"^\S+\.(?:yaml|json):(\d+):(\d+)", said_of(file), re.MULTILINE):
        assert 1 <= int(line) <= len(lines)
        assert 1 <= int(column) <= len(lines[int(line) - 1]) + 1
