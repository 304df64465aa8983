"""`logs`: which jobs, tasks, streams, attempts and lines are meant."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs.logs.selection import chosen
from paislurm.translator.app.session import user_name
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.records import JobRole

from ....monitor.jobs import CREATED, INTENT, ROLES, SUBMITTED, FakeBackend, job_folder, observed
from ...running import Runner
from .printed import JOB, print_to

pytestmark = pytest.mark.usefixtures("folder")

TWO = [JobRole(name="ps", folder="0-ps", instances=1), JobRole(name="worker", folder="1-worker", instances=12)]


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
    assert len(chosen(TWO, ())) == 13
    assert len(chosen(TWO, ["work*"])) == 12


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


def test_stderr_is_shown_with_stdout_and_marked(run: Runner, folder: JobFolder) -> None:
    print_to(folder, 0, "one\ntwo")
    print_to(folder, 0, "wrong\n", stream="stderr")
    print_to(folder, 1, "")
    assert run("logs", JOB).out == "worker-0 | one\nworker-0 | two\nworker-0 ! wrong\n"
    assert run("logs", JOB, "worker-0").out == "one\ntwo\nwrong\n"
    assert run("logs", JOB, "worker-0", "--stdout").out == "one\ntwo"
    assert run("logs", JOB, "--stderr").out == "worker-0 ! wrong\n"


def test_one_file_for_both_streams_is_shown_once(run: Runner, folder: JobFolder) -> None:
    print_to(folder, 0, "out\nerr\n")
    for options in ((), ("--stderr",), ("--stdout",)):
        assert run("logs", JOB, "worker-0", *options).out == "out\nerr\n"


def test_one_stream_at_a_time(run: Runner, folder: JobFolder) -> None:
    print_to(folder, 0, "one\n")
    print_to(folder, 0, "prepared\n", stream="runtime")
    assert run("logs", JOB, "worker-0", "--runtime").out == "prepared\n"


def test_the_last_lines_are_those_of_each_stream(run: Runner, folder: JobFolder) -> None:
    print_to(folder, 0, "one\ntwo\n")
    print_to(folder, 0, "three\nfour\n", stream="stderr")
    assert run("logs", JOB, "worker-0", "-n", "1").out == "two\nfour\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--since", "yesterday"), "'yesterday' is no time: it is 10m"),
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
    assert said.err.splitlines() == [f"attempt 0 of {JOB}", f"attempt 1 of {JOB}"]
