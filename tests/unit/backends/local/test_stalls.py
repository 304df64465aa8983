"""Some of the stalls and quiet jobs that `python -m tests.stalls` plays."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.stalls.__main__ import play_quiet, play_stall
from tests.stalls.made import KINDS, QUIET

pytestmark = pytest.mark.slow("a window of seconds")


@pytest.mark.parametrize("kind", [("tcp", "stop"), ("tcp", "pipe")], ids="-".join)
def test_a_stalled_task_is_named(tmp_path: Path, kind: tuple[str, str]) -> None:
    assert play_stall(KINDS.index(kind), tmp_path, sys.executable)


@pytest.mark.parametrize("kind", ["only one task logs", "a log is opened again", "a file", "a command"])
def test_a_quiet_job_is_no_stall(tmp_path: Path, kind: str) -> None:
    assert play_quiet(list(QUIET).index(kind), tmp_path)
