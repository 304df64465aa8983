"""The environment of a submit in a file: what goes in comes out, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.files.names import ENVIRONMENT
from paislurm.translator.state.submit_environment import as_bytes, kept_environment

VALUES = st.binary(max_size=40).map(lambda data: os.fsdecode(data.replace(b"\0", b"")))
NAMES = st.binary(max_size=20).map(lambda data: os.fsdecode(data.translate(None, b"\0="))).filter(bool)


@given(st.dictionaries(NAMES, VALUES, min_size=1))
def test_a_saved_environment_is_read_back_unchanged(environment: dict[str, str]) -> None:
    with TemporaryDirectory() as folder:
        Path(folder, ENVIRONMENT).write_bytes(as_bytes(environment))
        assert kept_environment(Path(folder)) == environment


@pytest.mark.parametrize("data", [b"", b"A=1", b"A=1\0B=", b"x" * (17 << 20) + b"\0"])
def test_an_incomplete_file_is_ignored(tmp_path: Path, data: bytes) -> None:
    (tmp_path / ENVIRONMENT).write_bytes(data)
    assert kept_environment(tmp_path) is None


def test_a_special_file_is_ignored(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ENVIRONMENT)
    assert kept_environment(tmp_path) is None


def test_lines_without_an_assignment_are_skipped(tmp_path: Path) -> None:
    (tmp_path / ENVIRONMENT).write_bytes(b"A=1\0\0=x\0B\0C=\0")
    assert kept_environment(tmp_path) == {"A": "1", "C": ""}
