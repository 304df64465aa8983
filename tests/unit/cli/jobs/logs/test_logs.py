"""`logs`: which jobs, tasks, streams, attempts and lines are meant, and what they print."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs.logs.selection import chosen
from paislurm.translator.app.log_reading import start_of_last_lines
from paislurm.translator.app.session import user_name
from paislurm.translator.cli.output import console
from paislurm.translator.errors import NotFoundError
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import JobRole
from paislurm.translator.times import aware

from ....monitor.jobs import CREATED, INTENT, ROLES, SUBMITTED, FakeBackend, job_folder, leave_result, observed
from ... import running
from ...running import Runner

TWO = [JobRole(name="ps", folder="0-ps", instances=1), JobRole(name="worker", folder="1-worker", instances=12)]
pytestmark = pytest.mark.usefixtures("folder")
JOB = "alice~demo"


def print_to(
    folder: JobFolder, index: int, text: str, retry: int = 0, stream: str = "stdout", attempt: int = 0
) -> None:
    """Let a task print."""
    path = folder.log(attempt, ROLES[0], index, retry, stream)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(text.encode())


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("", "worker-0 | one\nworker-0 | two\nworker-0 ! wrong\nworker-0 ! bad\nworker-1 | four\nworker-1 | five\n"),
        ("worker-0", "one\ntwo\nwrong\nbad\n"),
        ("worker-0 --stdout", "one\ntwo"),
        ("--stderr", "worker-0 ! wrong\nworker-0 ! bad\n"),
        ("worker-0 --runtime", "prepared\n"),
        ("--tail 1", "worker-0 | two\nworker-0 ! bad\nworker-1 | five\n"),
        ("worker-0 -n 9", "one\ntwo\nwrong\nbad\n"),
        ("worker-0 --tail 0", ""),
    ],
)
def test_the_lines_of_each_stream_are_shown_and_stderr_is_marked(
    run: Runner, folder: JobFolder, words: str, shown: str
) -> None:
    print_to(folder, 0, "one\ntwo")
    print_to(folder, 0, "wrong\nbad\n", stream="stderr")
    print_to(folder, 0, "prepared\n", stream="runtime")
    print_to(folder, 1, "four\nfive")
    print_to(folder, 1, "", stream="stderr")
    assert run("logs", JOB, *words.split()).out == shown


def test_the_newest_attempt_of_a_retried_task_is_shown(run: Runner, folder: JobFolder) -> None:
    texts = {0: "first\n", 1: "second\n", 999_999_999: "far\n"}
    for retry, text in texts.items():
        print_to(folder, 0, text, retry=retry)
        assert run("logs", JOB, "worker-0").out == text
    for retry, text in texts.items():
        assert run("logs", JOB, "worker-0", "--task-attempt", str(retry + 1)).out == text


@given(st.lists(st.sampled_from([b"", b"a", b"bb" * 40]), max_size=9), st.integers(1, 12), st.booleans())
def test_the_start_of_the_last_lines_is_found(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], count: int, ended: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "tail.log"
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("paislurm.translator.app.log_reading.CHUNK", 7)
        start = start_of_last_lines(path, count, os.geteuid())
    whole = data.split(b"\n")[: -1 if data.endswith(b"\n") else None]
    assert data[start:].split(b"\n")[: -1 if data.endswith(b"\n") else None] == whole[-count:]


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
        (["--attempt", "3"], "E522", "the last one is 1"),
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
    assert (said.code, "E522: worker-0 has no task attempt 3; it has 1\n" in said.err) == (5, True)
    retry = folder.log(0, ROLES[0], 1, 2, "stdout")
    retry.parent.mkdir(parents=True, exist_ok=True)
    retry.write_text("again", encoding="utf-8")
    assert f"{JOB} has no task attempt 2; it has 1, 3\n" in run("logs", JOB, "--task-attempt", "2", *options).err


def test_an_attempt_of_a_task_not_yet_started_is_not_an_error(run: Runner) -> None:
    assert "no output yet" in run("logs", JOB, "--task-attempt", "2").err


def test_a_role_name_may_look_like_a_task_name() -> None:
    roles = [JobRole(name=name, folder=name, instances=2) for name in ("ps", "ps-1", "a-b")]
    for word, role, indexes in (("ps-1", 1, [0, 1]), ("ps-0", 0, [0]), ("a-b-1", 2, [1])):
        assert chosen(roles, [word]) == [(roles[role], index) for index in indexes]
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
    monkeypatch.setattr("paislurm.translator.app.log_reading.CHUNK", size)
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


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("worker-[0-1]", "worker-0 worker-1"),
        ("worker-1?", "worker-10 worker-11"),
        ("p*", "ps-0"),
        ("worker-3 ps", "ps-0 worker-3"),
        ("worker-3 worker-3 worker-[3]", "worker-3"),
    ],
)
def test_arguments_select_each_task_once_in_job_order(words: str, expected: str) -> None:
    assert " ".join(f"{role.name}-{index}" for role, index in chosen(TWO, words.split())) == expected
    assert (len(chosen(TWO, ())), len(chosen(TWO, ["work*"]))) == (13, 12)


@pytest.fixture
def own(surroundings: Path, slurm: FakeBackend) -> list[JobFolder]:
    """Make three jobs of one's own that run."""
    folders = []
    for number, name in enumerate(("sweep-1", "sweep-2", "other")):
        at, user, job_id = 2_000_000 + number, user_name(), str(number + 20)
        slurm.observations[JobId(job_id)] = observed("RUNNING", job_id=job_id)
        folder = job_folder(
            surroundings,
            replace(CREATED, user=user, job=name, happened_at=at),
            replace(INTENT, happened_at=at),
            replace(SUBMITTED, user=user, job=name, happened_at=at, job_id=job_id),
            name=f"{user}~{name}",
        )
        print_to(folder, 0, f"of {name}\n")
        folders.append(folder)
    return folders


def test_a_task_name_in_place_of_a_job_gets_a_hint(run: Runner, own: list[JobFolder]) -> None:
    said = run("logs", "worker-[01]", "worker-0")
    assert (said.code, said.out) == (5, "")
    hint = f"it is a task of your last job, {own[2].name}: `paislurm logs --last 'worker-[01]' worker-0`"
    assert f"hint: {hint}\n" in said.err
    assert "it is a task" not in run("logs", "worker-7").err


def test_several_jobs_are_shown_with_their_names(run: Runner, own: list[JobFolder]) -> None:
    print_to(own[1], 1, "wrong\n", stream="stderr")
    shown = "sweep-1 worker-0 | of sweep-1\nsweep-2 worker-0 | of sweep-2\n"
    assert run("logs", "sweep-*").out == shown + "sweep-2 worker-1 ! wrong\n"
    assert run("logs", "sweep-*", "worker-0").out == shown
    found = run.json("logs", "sweep-*", "worker-0", "--stdout")["files"]
    assert [(each["name"], each["attempt"]) for each in found] == [(own[0].name, 0), (own[1].name, 0)]
    assert "E521" in run("logs", "sweep-*", "boss").err


def test_one_file_for_both_streams_is_shown_once(run: Runner, folder: JobFolder) -> None:
    print_to(folder, 0, "out\nerr\n")
    for options in ((), ("--stderr",), ("--stdout",)):
        assert run("logs", JOB, "worker-0", *options).out == "out\nerr\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--since", "yesterday"), "'yesterday' is no time: it is 10m"),
        (("--attempt", "0"), "expected the number of an attempt or `all`, found '0'"),
        (("--attempt", "-1"), "expected the number of an attempt or `all`, found '-1'"),
        (("--batch", "--since", "1h"), "--batch can only be used with"),
        (("--stderr", "--runtime"), "--runtime cannot be used with"),
        (("--json", "--follow"), "--follow cannot be used with"),
    ],
)
def test_invalid_option_combinations_are_refused(run: Runner, options: tuple[str, ...], says: str) -> None:
    said = run("logs", JOB, *options)
    assert (said.code, says in said.err) == (2, True)


def test_logs_written_before_the_given_time_are_omitted(run: Runner, folder: JobFolder) -> None:
    print_to(folder, 0, "old\n")
    print_to(folder, 1, "new\n")
    hour_ago = time.time() - 3600
    os.utime(folder.log(0, ROLES[0], 0, 0, "stdout"), (hour_ago, hour_ago))
    assert run("logs", JOB, "--since", "10m").out == "worker-1 | new\n"
    assert run("logs", JOB, "--since", "2h").out == "worker-0 | old\nworker-1 | new\n"
    found = run.json("logs", JOB, "--since", "10m")["files"]
    assert [each["task"] for each in found] == ["worker-1"]


def test_all_attempts_are_shown_in_sequence(run: Runner, folder: JobFolder) -> None:
    for attempt in (0, 1):
        print_to(folder, 0, f"attempt {attempt}\n", attempt=attempt)
    said = run("logs", JOB, "worker-0", "--attempt", "all")
    assert said.out == "attempt 0\nattempt 1\n"
    assert said.err.splitlines() == [f"attempt 1 of {JOB}", f"attempt 2 of {JOB}"]
