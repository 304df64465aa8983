"""The screen on a real terminal: keys work while Slurm does not, and the terminal is left as it was."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from paislurm.translator.app.session import user_name
from tests.clock import clock
from tests.terminal import Terminal

from ...monitor.jobs import CREATED, ENDED, INTENT, SUBMITTED, job_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paislurm.translator.state.job_folder import JobFolder

PROGRAM = [sys.executable, "-m", "paislurm.translator.cli.start", "watch"]
ENTERED, LEFT = "\x1b[?1049h", r"\x1b\[\?1049l"


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have a Slurm that never answers; return the pipe in which it says that it was asked."""
    pipe, programs = tmp_path / "asked", tmp_path / "bin"
    os.mkfifo(pipe)
    programs.mkdir()
    for name in ("squeue", "sacct"):
        program = programs / name
        program.write_text(f"#!/bin/sh\necho {name} >{pipe}\nexec sleep 1000\n", encoding="utf-8")
        program.chmod(0o700)
    path = f"{programs}:{os.environ['PATH']}"
    for variable, value in (("PATH", path), ("TERM", "xterm-256color"), ("LC_ALL", "C.UTF-8")):
        monkeypatch.setenv(variable, value)
    return pipe


@pytest.fixture
def folder(surroundings: Path) -> JobFolder:
    """Make a job that runs, as far as anybody knows, and one that failed."""
    now, me = clock() - 5, user_name()
    own, given = replace(CREATED, user=me, happened_at=now), replace(SUBMITTED, user=me, happened_at=now)
    ended = replace(ENDED, happened_at=now, ended_at=now)
    job_folder(surroundings, replace(own, job="old"), INTENT, replace(given, job="old"), ended, name=f"{me}~old")
    return job_folder(surroundings, own, INTENT, given, name=f"{me}~demo")


Start = Callable[..., Terminal]
pytestmark = pytest.mark.usefixtures("silent", "folder")


@pytest.fixture
def started() -> Iterator[Start]:
    """Return what starts the screen."""
    terminals: list[Terminal] = []

    def start(*argv: str) -> Terminal:
        terminals.append(Terminal([*PROGRAM, *argv], rows=24, columns=80))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


def finish(terminal: Terminal) -> tuple[int, bool]:
    """Return the exit code, and whether the terminal is set as it was."""
    terminal.expect(LEFT)
    return terminal.ended(), terminal.settings() == terminal.before


def test_keys_work_while_slurm_does_not_respond(started: Start, silent: Path, folder: JobFolder) -> None:
    before = folder.journal.read_bytes()
    terminal = started()
    terminal.expect("loading jobs")
    assert silent.read_text(encoding="utf-8") in ("squeue\n", "sacct\n")
    terminal.type("?")
    terminal.expect("after confirmation")
    terminal.type("xq")
    assert (finish(terminal), folder.journal.read_bytes()) == ((0, True), before)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_restores_the_terminal(started: Start, folder: JobFolder, sent: signal.Signals, code: int) -> None:
    before = folder.journal.read_bytes()
    terminal = started("old", "demo")
    terminal.expect("loading jobs")
    if sent is signal.SIGINT:
        terminal.type("\x03")
    else:
        os.kill(terminal.process.pid, sent)
    assert (finish(terminal), folder.journal.read_bytes()) == ((code, True), before)


def test_a_failed_job_is_shown_and_stays_on_the_terminal_after_quit(started: Start) -> None:
    terminal = started("old")
    terminal.expect(r"FAILED \(exit code 255")
    terminal.resize(50, 160)
    for seen, typed in (("a task failed", "c"), ("it has already ended", "q")):
        terminal.expect(seen)
        terminal.type(typed)
    assert finish(terminal) == (0, True)
    terminal.expect("old FAILED .*: a task failed")


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_gets_lines(
    started: Start, folder: JobFolder, monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    shutil.rmtree(folder.path)
    monkeypatch.setenv("TERM", term)
    terminal = started("old")
    assert "\x1b" not in terminal.expect("(?s).*old FAILED 255.*a task failed")
    assert terminal.ended() == 0
