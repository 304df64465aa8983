"""How far a job is, by its files, and the line that says so."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.translator.app.jobs.reported import Progress, ProgressReader, progress_of
from paislurm.translator.cli.progress import shown
from paislurm.translator.cli.progress.shown import CLEAR, ProgressLine, ShownProgress
from paislurm.translator.state.job_folder import JobFolder

from ...monitor.jobs import CREATED, INTENT, SUBMITTED, job_folder

STEPS = ("the nodes are being prepared", "images are being fetched", "code is being fetched", "tasks are being started")


class Tty(io.TextIOWrapper):
    """A terminal that keeps what is written."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)

    def isatty(self) -> bool:
        """Be one."""
        return True

    def written(self) -> str:
        """Return all that was written."""
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode(self.encoding)


@pytest.fixture(autouse=True)
def xterm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a terminal that has a cursor."""
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def waiting(tmp_path: Path) -> JobFolder:
    """Make a job that has been submitted."""
    return job_folder(tmp_path, CREATED, INTENT, SUBMITTED)


def touch(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_stages_are_recognized_by_their_files(waiting: JobFolder) -> None:
    known, attempt = waiting.history(), waiting.attempt(0)
    assert progress_of(waiting, known, ()) == Progress(words="waits for its nodes")
    srun = attempt / "srun"
    marks = (waiting.claim(0), srun / "image-0.log", attempt / "code" / "x", srun / "0-worker.log")
    for step, mark in enumerate(marks):
        touch(mark)
        words = f"staging, step {step + 1} of 4: {STEPS[step]}"
        assert progress_of(waiting, known, ()) == Progress(words=words, done=step, total=4, staging=True)


def test_files_are_read_only_after_a_change(waiting: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = ProgressReader(waiting)
    assert reader.poll().words == "waits for its nodes"
    touch(waiting.claim(0))
    assert reader.poll().staging
    reports = waiting.reports(0) / "n1.log"
    touch(reports, "start 0 0 0 0 n1 0 100\n")
    assert reader.poll() == Progress(words="0 of 2 tasks completed", done=0, total=2)
    monkeypatch.setattr("paislurm.translator.app.jobs.reported.reports_of", lambda *_: pytest.fail("read"))
    assert reader.poll().total == 2


def test_a_new_attempt_resets_the_progress(waiting: JobFolder) -> None:
    reader = ProgressReader(waiting)
    touch(waiting.reports(0) / "n1.log", "start 0 0 0 0 n1 0 100\nexit 0 0 0 0 1 255 unknown 110\n")
    assert reader.poll() == Progress(words="1 of 2 tasks completed, 1 failed", done=1, total=2, failed=1)
    waiting.attempt(1).mkdir()
    for record in (replace(INTENT, attempt=1), replace(SUBMITTED, attempt=1, job_id="8")):
        waiting.append(record)
    assert reader.poll() == Progress(words="waits for its nodes")


def test_the_line_is_written_when_it_changes_and_cleared() -> None:
    tty = Tty()
    line = ProgressLine(tty)
    line.show("demo 1/4 tasks", 1, 4)
    line.show("demo 1/4 tasks", 1, 4)
    line.clear()
    line.clear()
    assert tty.written() == f"{CLEAR}{'█' * 5}{'░' * 15} demo 1/4 tasks{CLEAR}"


def test_the_line_is_short_and_control_characters_are_escaped() -> None:
    tty = Tty("ascii")
    line = ProgressLine(tty)
    line.show("a\x1b[2J\n" * 100, 3, 4)
    written = tty.written().removeprefix(CLEAR)
    assert (written.isprintable(), len(written), written[:31]) == (True, 79, "###############..... a\\x1b[2J\\n")


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_line_is_shown_without_a_suitable_terminal(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    tty = Tty()
    line = ProgressLine(tty)
    line.show("demo")
    line.clear()
    assert (line.shows, tty.written()) == (False, "")
    assert not ProgressLine(io.StringIO()).shows


@pytest.mark.parametrize("both", [True, False])
def test_task_output_replaces_the_line(waiting: JobFolder, monkeypatch: pytest.MonkeyPatch, both: bool) -> None:
    tty = Tty()
    monkeypatch.setattr(shown.sys, "stderr", tty)
    monkeypatch.setattr(shown.sys, "stdout", tty if both else io.StringIO())
    progress = ShownProgress([waiting], prints=True)
    progress.show(0)
    assert tty.written() == f"{CLEAR}alice~demo waits for its nodes"
    touch(waiting.reports(0) / "n1.log", "start 0 0 0 0 n1 0 100\n")
    for _ in range(shown.TICKS - 1):
        progress.show(0)
    progress.clear()
    progress.show(0)
    assert tty.written().split(CLEAR)[3:] == ([] if both else [f"{'░' * 20} alice~demo 0 of 2 tasks completed"])


def test_the_line_counts_the_finished_jobs(waiting: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    tty = Tty()
    monkeypatch.setattr(shown.sys, "stderr", tty)
    progress = ShownProgress([waiting, waiting])
    progress.show(0)
    progress.show(1)
    progress.clear()
    progress.show(2)
    assert tty.written().split(CLEAR)[1:] == [f"{'░' * 20} 0/2 jobs ended", f"{'█' * 10}{'░' * 10} 1/2 jobs ended", ""]
