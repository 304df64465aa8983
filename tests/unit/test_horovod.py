"""Who builds Horovod, and who waits for it; what is built here is a file of its name."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.cluster import horovod

if TYPE_CHECKING:
    from pathlib import Path

BUILD = """
from pathlib import Path
with Path({folder!r}, "runs").open("a") as runs:
    runs.write("run\\n")
Path({folder!r}, "go").read_text()
Path({wheels!r}).mkdir()
Path({wheels!r}, "horovod-1.whl").touch()
"""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a pipe: a build ends when something has been written there."""
    wheels = tmp_path / "cache" / "horovod"
    monkeypatch.setattr(horovod, "WHEELS", wheels)
    monkeypatch.setattr(horovod, "CODE", BUILD.format(folder=str(tmp_path), wheels=str(wheels)))
    os.mkfifo(tmp_path / "go")
    return tmp_path / "go"


def test_one_task_builds_while_others_wait(go: Path) -> None:
    horovod.start()
    horovod.start()
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(horovod.wait)
        assert not horovod.wait(0)
        go.write_text("go")
        assert waiting.result()
    horovod.start()
    assert go.with_name("runs").read_text() == "run\n"


def test_a_failed_build_reports_its_reason(go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert go.exists()
    monkeypatch.setattr(horovod, "CODE", "raise SystemExit('no network')")
    horovod.start()
    assert not horovod.wait()
    assert "no network" in horovod.why_not()


def test_an_endless_build_times_out(go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(horovod, "IN_BACKGROUND", ("timeout", "1"))
    horovod.start()
    assert not horovod.wait()
    assert not list(go.parent.glob("cache/horovod/*"))


def test_tasks_do_not_wait_if_no_task_builds(go: Path) -> None:
    assert go.exists()
    assert not horovod.wait()
    assert "`make horovod` builds it" in horovod.why_not()
