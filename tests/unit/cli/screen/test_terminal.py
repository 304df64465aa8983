"""The terminal: what is drawn, and the keys that are pressed."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.translator.app.session import user_name
from paislurm.translator.cli.screen.terminal import SEQUENCES, SINGLE, Keys
from paislurm.translator.state.job_folder import JobFolder
from tests.clock import clock
from tests.terminal import Terminal

from ...monitor.jobs import CREATED, ENDED, INTENT, SUBMITTED, job_folder

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
    terminal.expect(r"FAILED \(the command failed; code 255")
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
