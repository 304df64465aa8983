"""`logs`: what tasks print, as it is and as it comes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs import waiting
from paislurm.translator.app.jobs.logs.job_logs import JobLogs
from paislurm.translator.app.jobs.logs.lines import Lines
from paislurm.translator.app.jobs.logs.selection import ALL_LOGS, chosen
from paislurm.translator.app.results.tail import start_of_last_lines
from paislurm.translator.app.session import Session
from paislurm.translator.cli.output import console
from paislurm.translator.cli.progress.log_printer import printer
from paislurm.translator.errors import NotFoundError
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.records import JobRole
from paislurm.translator.times import aware

from ....monitor.jobs import ROLES, FakeBackend, leave_result, observed
from ... import running
from ...running import Runner
from .printed import JOB, print_to

pytestmark = pytest.mark.usefixtures("folder")


def test_tail_shows_the_last_lines(run: Runner, folder: JobFolder) -> None:
    print_to(folder, 0, "one\ntwo\nthree\n")
    print_to(folder, 1, "four\nfive")
    assert run("logs", JOB, "--tail", "1").out == "worker-0 | three\nworker-1 | five\n"
    assert run("logs", JOB, "worker-0", "--tail", "9").out == "one\ntwo\nthree\n"


@given(st.lists(st.sampled_from([b"", b"a", b"bb" * 40]), max_size=9), st.integers(1, 12), st.booleans())
def test_the_start_of_the_last_lines_is_found(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], count: int, ended: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "tail.log"
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("paislurm.translator.app.results.tail.CHUNK", 7)
        start = start_of_last_lines(path, count, os.geteuid())
    whole = data.split(b"\n")[: -1 if data.endswith(b"\n") else None]
    assert data[start:].split(b"\n")[: -1 if data.endswith(b"\n") else None] == whole[-count:]


def test_tail_0_shows_no_lines(run: Runner, folder: JobFolder) -> None:
    print_to(folder, 0, "one\ntwo\n")
    assert run("logs", JOB, "worker-0", "--tail", "0").out == ""


def test_the_newest_attempt_of_a_retried_task_is_shown(run: Runner, folder: JobFolder) -> None:
    print_to(folder, 0, "first\n")
    print_to(folder, 0, "second\n", retry=1)
    print_to(folder, 0, "third\n", retry=2)
    assert run("logs", JOB, "worker-0").out == "third\n"
    assert run("logs", JOB, "worker-0", "--task-attempt", "1").out == "second\n"
    assert run("logs", JOB, "worker-0", "--task-attempt", "0").out == "first\n"


def test_batch_shows_the_log_of_the_batch_script(run: Runner, folder: JobFolder) -> None:
    assert "no output yet" in run("logs", JOB, "--batch").err
    folder.batch_log(0).write_text("paislurm: all is well\n", encoding="utf-8")
    assert run("logs", JOB, "--batch").out == "paislurm: all is well\n"


def test_missing_output_is_explained_by_the_job_status(run: Runner, slurm: FakeBackend, folder: JobFolder) -> None:
    slurm.observations[JobId("7")] = observed("PENDING", reason="Priority")
    said = run("logs", JOB)
    assert (said.code, said.out) == (0, "")
    assert said.err.startswith(f"no output yet: {JOB} is WAITING (Priority: jobs ")
    leave_result(folder)
    assert run("logs", JOB).err == f"no output; {JOB} SUCCEEDED: all is well\n"


@pytest.mark.parametrize(
    ("argv", "code", "says"),
    [
        (["worker-2"], "E521", "it has worker-0 to worker-1"),
        (["worker-"], "E521", "worker-"),
        (["boss"], "E521", "boss"),
        (["--attempt", "3"], "E522", "the last one is 0"),
    ],
)
def test_unknown_tasks_and_roles_are_not_found(run: Runner, argv: list[str], code: str, says: str) -> None:
    said = run("logs", JOB, *argv)
    assert (said.code, code in said.err, says in said.err) == (5, True, True)


@pytest.mark.parametrize("options", [(), ("--json",), ("--follow",), ("--stderr",)])
def test_an_unknown_task_attempt_lists_the_existing_ones(
    run: Runner, folder: JobFolder, options: tuple[str, ...]
) -> None:
    print_to(folder, 0, "first")
    said = run("logs", JOB, "worker-0", "--task-attempt", "3", *options)
    assert (said.code, "E522: worker-0 has no task attempt 3; it has 0\n" in said.err) == (5, True)
    retry = folder.log(0, ROLES[0], 1, 2, "stdout")
    retry.parent.mkdir(parents=True, exist_ok=True)
    retry.write_text("again", encoding="utf-8")
    assert f"{JOB} has no task attempt 1; it has 0, 2\n" in run("logs", JOB, "--task-attempt", "1", *options).err


def test_an_attempt_of_a_task_not_yet_started_is_not_an_error(run: Runner) -> None:
    assert "no output yet" in run("logs", JOB, "--task-attempt", "1").err


def test_a_role_name_may_look_like_a_task_name() -> None:
    roles = [JobRole(name=name, folder=name, instances=2) for name in ("ps", "ps-1", "a-b")]
    assert chosen(roles, ["ps-1"]) == [(roles[1], 0), (roles[1], 1)]
    assert chosen(roles, ["ps-0"]) == [(roles[0], 0)]
    assert chosen(roles, ["a-b-1"]) == [(roles[2], 1)]
    with pytest.raises(NotFoundError):
        chosen(roles, ["a-b-٣"])


def test_a_named_pipe_in_place_of_a_log_does_not_block(run: Runner, folder: JobFolder) -> None:
    path = folder.log(0, ROLES[0], 0, 0, "stdout")
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    assert run("logs", JOB, "worker-0").out == ""


def test_the_json_output_lists_the_log_files(run: Runner, folder: JobFolder) -> None:
    print_to(folder, 0, "x")
    first, *others = run.json("logs", JOB)["files"]
    path = folder.log(0, ROLES[0], 0, 0, "stdout")
    assert (first["file"], first["exists"], first["written_at"]) == (
        str(path),
        True,
        str(aware(int(path.stat().st_mtime))).replace(" ", "T"),
    )
    assert [(each["task"], each["stream"], each["exists"]) for each in others] == [
        ("worker-1", "stdout", False),
        ("worker-1", "stderr", False),
    ]


def test_attempts_that_run_between_two_polls_are_followed(
    folder: JobFolder, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    logs = JobLogs(Session(), folder, folder.history(), ALL_LOGS, printer(ALL_LOGS, several=True), follows=True)
    for attempt, text in enumerate(["first", "second\n", "third\n"]):
        print_to(folder, 0, text, attempt=attempt)
    logs.print_last()
    assert capfdbinary.readouterr().out == b"".join(
        b"worker-0 | %s\n" % text for text in (b"first", b"second", b"third")
    )


def test_follow_ends_with_the_job(
    run: Runner, slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter(
        [
            lambda: print_to(folder, 0, "half a "),
            lambda: print_to(folder, 1, "one\n"),
            lambda: print_to(folder, 0, "line\n"),
            lambda: print_to(folder, 0, "retried\n", retry=1),
            lambda: (print_to(folder, 1, "last"), leave_result(folder)),
        ]
    )
    monkeypatch.setattr(waiting.time, "sleep", lambda _: next(steps)())
    said = run("logs", "-f", JOB)
    assert said.code == 0
    assert said.out == ("worker-1 | one\nworker-0 | half a line\nworker-0 | retried\nworker-1 | last\n")
    assert f"{JOB} SUCCEEDED" in said.err
    assert slurm.queries <= 2


def test_a_truncated_log_is_read_from_its_start(
    run: Runner, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder.log(0, ROLES[0], 0, 0, "stdout")
    print_to(folder, 0, "a long line\n")
    steps = iter([lambda: path.write_text("short\n", encoding="utf-8"), lambda: leave_result(folder)])
    monkeypatch.setattr(waiting.time, "sleep", lambda _: next(steps)())
    assert run("logs", "-f", JOB, "worker-0").out == "a long line\nshort\n"


@given(st.lists(st.binary(max_size=8)))
def test_joining_chunks_into_lines_loses_no_bytes(pieces: list[bytes]) -> None:
    lines = Lines()
    printed = [line for piece in pieces for line in lines.add(piece)] + lines.rest()
    whole = b"".join(pieces).split(b"\n")
    assert printed == whole[:-1] + [line for line in whole[-1:] if line]


EVIL = "a\x1b[2Jb\x1b]0;title\x07\tc\x9b1Ad \u202e é 漢\r 50%\n"
SHOWN = r"a\x1b[2Jb\x1b]0;title\x07" + "\tc" + r"\x9b1Ad \u202e" + " é 漢\r 50%\n"


@pytest.mark.parametrize("argv", [("worker-0",), (), ("--batch",)])
def test_control_characters_of_tasks_are_escaped_on_a_terminal(
    run: Runner, folder: JobFolder, argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    print_to(folder, 0, EVIL)
    folder.batch_log(0).write_text(EVIL, encoding="utf-8")
    assert EVIL in run("logs", JOB, *argv).out
    monkeypatch.setattr(console, "is_terminal", lambda _: True)
    assert SHOWN in run("logs", JOB, *argv).out


@pytest.mark.parametrize("size", range(1, 9))
def test_characters_split_between_chunks_are_shown_whole(
    run: Runner, folder: JobFolder, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    print_to(folder, 0, EVIL)
    monkeypatch.setattr("paislurm.translator.app.results.tail.CHUNK", size)
    monkeypatch.setattr(console, "is_terminal", lambda _: True)
    assert run("logs", JOB, "worker-0").out == SHOWN


@pytest.mark.usefixtures("profile")
def test_control_characters_in_scripts_and_converted_files_are_escaped(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = running.JOB.replace("echo and bye", r'"echo \e]0;gone\a"')
    file = running.job_file(tmp_path, text)
    assert "\x1b]0;gone" in run("script", file).out
    monkeypatch.setattr(console, "is_terminal", lambda _: True)
    shown = run("script", file).out
    assert r"\x1b]0;gone\x07" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("argv", ["worker-0", "worker-0 --tail 2", "", "--batch", "--batch --tail 2"])
def test_a_sparse_gap_of_a_terabyte_is_skipped(run: Runner, folder: JobFolder, argv: str) -> None:
    """A program that cuts its log and writes on where it was leaves one, without a line's end in it."""
    path = folder.log(0, ROLES[0], 0, 0, "stdout")
    path.parent.mkdir(parents=True)
    for log in (path, folder.batch_log(0)):
        with log.open("wb") as file:
            file.write(b"first\n")
            file.seek(1 << 40)
            file.write(b"last\nof all\n")
    shown = run("logs", JOB, *argv.split()).out
    assert shown.replace("\0", "").endswith("last\nof all\n" if argv else "last\nworker-0 | of all\n")
    assert len(shown) < 1 << 20
    os.truncate(path, 1 << 41)
    assert len(run("logs", JOB, *argv.split()).out) < 1 << 20
