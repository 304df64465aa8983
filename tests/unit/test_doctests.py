"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [
    file
    for file in sorted(ROOT.glob("translator/**/*.py"))
    if ">>> " in (text := file.read_text(encoding="utf-8")) and not re.search(r">>> .*\bsession\b", text)
]
"""`tests/unit/api/test_examples.py` runs the examples with a session."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_doctest_examples_pass(file: Path) -> None:
    module = import_module("paislurm." + ".".join(file.relative_to(ROOT).with_suffix("").parts))
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed
