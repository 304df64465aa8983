"""`logs -f`: what comes, in the order in which it comes; of thousands of logs few are looked at."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs.logs import following, task_log
from paislurm.translator.app.jobs.logs.following import JobLogs, Lines, ReadSchedule
from paislurm.translator.app.jobs.logs.selection import ALL_LOGS, BOTH
from paislurm.translator.app.jobs.logs.task_log import LogFolder
from paislurm.translator.app.session import Session
from paislurm.translator.cli.output import console
from paislurm.translator.cli.progress import log_printer as printer
from paislurm.translator.state.job_folder import JobFolder

from ....monitor.jobs import CREATED, INTENT, ROLES, SUBMITTED, FakeBackend, job_folder, leave_result, observed
from ...running import Runner, Said
from .test_logs import JOB, print_to


@pytest.fixture
def follow(run: Runner, folder: JobFolder, then: Callable[..., list[float]]) -> Callable[..., Said]:
    """Return what follows a job while these things happen, one between two looks; then the job has ended."""

    def follow(*argv: str, steps: list[Callable[[], object]]) -> Said:
        then(*steps, lambda: leave_result(folder))
        return run("logs", "-f", JOB, *argv)

    return follow


def out(folder: JobFolder, text: str, index: int = 0) -> Callable[[], object]:
    return lambda: print_to(folder, index, text)


def err(folder: JobFolder, text: str, index: int = 0) -> Callable[[], object]:
    return lambda: print_to(folder, index, text, stream="stderr")


def test_both_streams_are_shown_in_the_order_of_printing(follow: Callable[..., Said], folder: JobFolder) -> None:
    steps = [err(folder, "a\n"), out(folder, "b\nhalf"), err(folder, "c\n"), out(folder, " d\n"), err(folder, "e", 1)]
    assert follow(steps=steps).out == ("worker-0 ! a\nworker-0 | b\nworker-0 ! c\nworker-0 | half d\nworker-1 ! e\n")


def test_lines_of_one_task_stay_whole_in_a_pipe(follow: Callable[..., Said], folder: JobFolder) -> None:
    steps = [out(folder, "half"), err(folder, "wrong\n"), out(folder, " a line\nrest"), err(folder, "end")]
    assert follow("worker-0", steps=steps).out == "wrong\nhalf a line\nrest\nend"


def test_a_terminal_shows_a_progress_bar_of_one_task_at_once(
    follow: Callable[..., Said], folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "is_terminal", lambda _: True)
    steps = [err(folder, "\r10%"), out(folder, "epoch\x1b[2J 1\n"), err(folder, "\r20%"), err(folder, "\n")]
    assert follow("worker-0", steps=steps).out == "\r10%\nepoch\\x1b[2J 1\n\r20%\n"


def test_follow_ends_with_the_job(follow: Callable[..., Said], slurm: FakeBackend, folder: JobFolder) -> None:
    steps = [out(folder, "half a "), out(folder, "one\n", 1), out(folder, "line\n")]
    said = follow(steps=[*steps, lambda: print_to(folder, 0, "retried\n", retry=1), out(folder, "last", 1)])
    assert said.out == "worker-1 | one\nworker-0 | half a line\nworker-0 | retried\nworker-1 | last\n"
    assert (said.code, f"{JOB} SUCCEEDED" in said.err, slurm.queries <= 2) == (0, True, True)


def test_a_truncated_log_is_read_from_its_start(follow: Callable[..., Said], folder: JobFolder) -> None:
    path = folder.log(0, ROLES[0], 0, 0, "stdout")
    print_to(folder, 0, "a long line\n")
    said = follow("worker-0", steps=[lambda: path.write_text("short\n", encoding="utf-8")])
    assert said.out == "a long line\nshort\n"


def test_attempts_that_run_between_two_polls_are_followed(
    folder: JobFolder, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    logs = JobLogs(Session(), folder, folder.history(), ALL_LOGS, printer.printer(ALL_LOGS, several=True), follows=True)
    for attempt, text in enumerate(["first", "second\n", "third\n"]):
        print_to(folder, 0, text, attempt=attempt)
    logs.print_last()
    assert capfdbinary.readouterr().out == b"".join(
        b"worker-0 | %s\n" % text for text in (b"first", b"second", b"third")
    )


@given(st.lists(st.binary(max_size=8)))
def test_joining_chunks_into_lines_loses_no_bytes(pieces: list[bytes]) -> None:
    lines = Lines()
    printed = [line for piece in pieces for line in lines.add(piece)] + lines.rest()
    whole = b"".join(pieces).split(b"\n")
    assert printed == whole[:-1] + [line for line in whole[-1:] if line]


@given(st.lists(st.tuples(st.sampled_from(BOTH), st.binary(max_size=5) | st.sampled_from([b"a\n", b"\nb", b"\n"]))))
def test_two_streams_lose_no_byte_and_their_lines_stay_whole(pieces: list[tuple[str, bytes]]) -> None:
    output = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(printer, "raw_output", lambda: output)
        shown = printer.printer(ALL_LOGS, several=False)
        for stream, data in pieces:
            shown.write("w-0", task_log.Piece(stream, data))
        for stream in BOTH:
            shown.rest("w-0", stream)
    whole = {stream: b"".join(data for each, data in pieces if each == stream) for stream in BOTH}
    lines = output.getvalue().split(b"\n")
    expected = [line for data in whole.values() for line in data.removesuffix(b"\n").split(b"\n") if data]
    assert sorted(line for line in lines if line) == sorted(line for line in expected if line)
    if not all(whole.values()):
        assert output.getvalue() == b"".join(whole.values())


def test_the_read_schedule_counts_the_tasks_of_all_jobs() -> None:
    assert following.ReadSchedule(3, total=following.FEW).due(0.0) == [0, 1, 2]
    assert following.ReadSchedule(3, total=following.FEW + 1).due(0.0) == []


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a terminal with colours."""
    monkeypatch.setattr(console, "is_terminal", lambda _: True)
    monkeypatch.setattr(printer, "colourful", lambda _: True)


@pytest.mark.usefixtures("colours")
def test_each_task_has_its_colour_and_errors_are_red(run: Runner, folder: JobFolder) -> None:
    print_to(folder, 0, "a\x1b[1m\n")
    print_to(folder, 1, "b\n")
    print_to(folder, 1, "c\n", stream="stderr")
    assert run("logs", JOB).out.splitlines() == [
        "\x1b[36mworker-0\x1b[0m | a\\x1b[1m",
        "\x1b[33mworker-1\x1b[0m | b",
        "\x1b[33mworker-1\x1b[0m \x1b[31m\x1b[1m!\x1b[0m c",
    ]
    assert run("logs", JOB, "worker-1").out == "b\n\x1b[31mc\n\x1b[0m"


def test_since_omits_old_lines_but_not_new_ones(follow: Callable[..., Said], folder: JobFolder) -> None:
    print_to(folder, 0, "old\n")
    os.utime(folder.log(0, ROLES[0], 0, 0, "stdout"), (1, 1))
    assert follow("worker-0", "--since", "1h", steps=[lambda: None, out(folder, "new\n")]).out == "new\n"


def test_several_jobs_are_followed_until_all_have_ended(
    run: Runner, slurm: FakeBackend, folder: JobFolder, surroundings: Path, then: Callable[..., list[float]]
) -> None:
    slurm.observations[JobId("8")] = observed("RUNNING", job_id="8")
    other = job_folder(surroundings, CREATED, INTENT, replace(SUBMITTED, job_id="8"), name="alice~demo2")
    then(
        out(other, "one\n"),
        lambda: (print_to(folder, 0, "two\n"), leave_result(folder)),
        out(other, "three\n"),
        lambda: (print_to(other, 1, "four"), leave_result(other)),
    )
    said = run("logs", "-f", "alice~demo*", "worker")
    assert said.out.splitlines() == [
        "alice~demo2 worker-0 | one",
        "alice~demo worker-0 | two",
        "alice~demo2 worker-0 | three",
        "alice~demo2 worker-1 | four",
    ]
    ends = [line.split(": ")[0] for line in said.err.splitlines() if "SUCCEEDED" in line]
    assert ends == ["alice~demo SUCCEEDED", "alice~demo2 SUCCEEDED"]


def test_the_log_folder_reports_each_new_file(folder: JobFolder) -> None:
    logs = LogFolder(folder, 0, folder.history().roles[0], time.time)
    tmp_path = logs.path
    tmp_path.mkdir(parents=True, exist_ok=True)
    assert logs.refresh() == []
    for name in ("0.stdout.log", "0.stderr.log", "12.stdout.3.log", "x.stdout.log", "1.stdout.log.new"):
        (tmp_path / name).touch()
    assert sorted(logs.refresh()) == [0, 12]
    assert (logs.files(12), logs.files(0)) == ({("stdout", 3)}, {("stdout", 0), ("stderr", 0)})
    assert logs.refresh(afresh=True) == []
    os.utime(tmp_path, (1, 1))
    assert logs.refresh() == []
    (tmp_path / "1.stdout.log").touch()
    os.utime(tmp_path, (1, 1))
    # Its time tells of nothing.
    assert logs.refresh() == []
    assert logs.refresh(afresh=True) == [1]


@given(st.lists(st.integers(0, 299), max_size=40), st.integers(300, 2000))
def test_every_log_is_polled_within_seconds_and_a_growing_log_each_time(grow: list[int], count: int) -> None:
    schedule, now = ReadSchedule(count), 100.0
    for number in range(count):
        schedule.wake(number, now)
    last = dict.fromkeys(range(count), now)
    for _ in range(60):
        due = schedule.due(now)
        assert len(due) == len(set(due)) <= following.A_TIME
        for number in due:
            last[number] = now
            schedule.was_read(number, now, has_more=number in grow)
        now += 0.5
    assert max(now - at for at in last.values()) <= following.LONGEST + 2.5
    assert set(grow) <= set(schedule.due(now))


def test_thousands_of_idle_logs_are_polled_rarely(
    surroundings: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    role = replace(ROLES[0], instances=1000)
    folder = job_folder(surroundings, replace(CREATED, roles=(role,)), INTENT, SUBMITTED)
    logs = folder.logs(0, role)
    logs.mkdir(parents=True)
    for index in range(1000):
        print_to(folder, index, "begun\n")
    os.utime(logs, (1, 1))
    now = [100.0]
    monkeypatch.setattr("paislurm.translator.app.jobs.logs.following.time.monotonic", lambda: now[0])
    followed = JobLogs(
        Session(), folder, folder.history(), ALL_LOGS, printer.printer(ALL_LOGS, several=True), follows=True
    )
    assert followed.print_new()
    assert capfdbinary.readouterr().out.count(b"| begun\n") == 1000
    was_read: list[int] = []
    read = task_log.TaskLog.read
    monkeypatch.setattr(task_log.TaskLog, "read", lambda self: was_read.append(self.index) or read(self))
    for _ in range(120):
        now[0] += 0.5
        followed.print_new()
    # A minute: each is looked at every ten seconds, and somewhat more often at first.
    assert len(was_read) <= 1000 * 12
    print_to(folder, 77, "and again\n")
    assert followed.print_last()
    assert capfdbinary.readouterr().out == b"worker-77 | and again\n"
