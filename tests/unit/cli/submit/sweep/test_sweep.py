"""`submit --sweep`: all jobs or none are right, each is submitted once, and the group can be looked at."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from paislurm.backends.base import Accepted, JobId
from paislurm.translator.app.jobs.selecting import jobs_of_group, select
from paislurm.translator.app.session import user_name
from paislurm.translator.errors import Diagnostic, RejectedError, UnreachableError
from paislurm.translator.state.job_folder import JobFolder, Store

from ....monitor.jobs import leave_result, observed, task
from ...running import JOB, finish, job_file

if TYPE_CHECKING:
    from pathlib import Path

    from paislurm.backends.base import Submission

    from ....monitor.jobs import FakeBackend
    from ...running import Runner

ME = user_name()
TEXT = JOB.replace("name: demo", "name: train\nparameters: {lr: 1, seed: 1}")
FOUR = ("--sweep", "lr=0.1,0.01", "--sweep", "seed=1..2")
NAMES = [f"{ME}~train-lr{lr}-seed{seed}" for lr in ("0_1", "0_01") for seed in (1, 2)]


pytestmark = pytest.mark.usefixtures("slurm", "profile")


@pytest.fixture
def job(tmp_path: Path) -> str:
    return job_file(tmp_path, TEXT)


def test_each_point_is_a_separate_job(run: Runner, job: str, slurm: FakeBackend, surroundings: Path) -> None:
    said = run("submit", job, *FOUR)
    assert (said.code, said.out.splitlines()) == (0, [f"{name} is job {101 + k}" for k, name in enumerate(NAMES)])
    assert "group train: 4 jobs submitted" in said.err
    known = JobFolder(path=surroundings / NAMES[2]).history()
    assert (known.group, dict(known.sweep)) == ("train", {"lr": "0.01", "seed": "1"})
    assert len(slurm.submissions) == 4
    store = Store(surroundings.parent)
    assert [folder.name for folder in select(store, ["train"], user=ME)] == sorted(NAMES)
    assert jobs_of_group(store, "", user=ME) == []


def test_repeating_the_command_submits_only_missing_jobs(run: Runner, job: str, slurm: FakeBackend) -> None:
    taken: list[Submission] = []

    def submit(submission: Submission) -> Accepted:
        if len(taken) == 2:
            raise UnreachableError(Diagnostic(code="E501", message="the controller is away"))
        taken.append(submission)
        slurm.observations[JobId(str(len(taken)))] = observed("PENDING", job_id=str(len(taken)))
        return Accepted(JobId(str(len(taken))))

    whole = slurm.submit
    slurm.submit = submit  # type: ignore[method-assign]
    said = run("submit", job, *FOUR)
    said.ends(6, "E586: 2 of 4 jobs of train are submitted", "run the same command again to submit the others")
    assert len(said.out.splitlines()) == 2
    slurm.submit = whole  # type: ignore[method-assign]
    document = json.loads(run("submit", job, *FOUR, "--json").out)
    assert (document["group"], [each["name"] for each in document["jobs"]]) == ("train", NAMES[2:])
    assert document["present"] == NAMES[:2]
    assert [submission.job for submission in slurm.submissions] == [name.partition("~")[2] for name in NAMES[2:]]
    third = run("submit", job, *FOUR)
    third.ends(0, "to submit all of them again under other names")
    assert third.out == ""


def test_a_dry_run_names_the_existing_jobs(run: Runner, job: str, slurm: FakeBackend) -> None:
    first = run("submit", job, "--sweep", "lr=1", "--dry-run")
    assert (first.code, first.out) == (0, f"{ME}~train-lr1 would be submitted\n")
    assert first.err.splitlines()[-1] == "group train: dry run: 1 job would be submitted"
    assert "group train: 1 job submitted\n" in run("submit", job, "--sweep", "lr=1").err
    more = run("submit", job, "--sweep", "lr=1,2", "--dry-run")
    assert more.out == f"{ME}~train-lr2 would be submitted\n"
    assert "group train: dry run: 1 job would be submitted, 1 was submitted before\n" in more.err
    said = run("submit", job, "--sweep", "lr=1", "--dry-run")
    told = "group train: dry run: 0 jobs would be submitted, 1 was submitted before\n"
    said.ends(0, told, "to submit all of them again under other names")
    assert (said.out, len(slurm.submissions)) == ("", 1)


def test_a_job_that_never_reached_slurm_counts_as_missing(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    """As after kill -9 between the intent and sbatch: it has ended by the time that somebody looks again."""
    assert run("submit", job, "--sweep", "lr=1,2").code == 0
    folder = JobFolder(path=surroundings / f"{ME}~train-lr1")
    created, intent, *_ = folder.journal.read_bytes().splitlines(keepends=True)
    folder.journal.write_bytes(created + re.sub(rb'"happened_at": \d+', b'"happened_at": 1000', intent))
    slurm.tags.clear()
    document = json.loads(run("submit", job, "--sweep", "lr=1,2", "--json").out)
    names = [[each["name"] for each in document["jobs"]], document["present"]]
    assert names == [[f"{ME}~train-lr1@2"], [f"{ME}~train-lr2"]]


def test_nothing_is_submitted_if_any_job_is_invalid_or_its_name_taken(
    run: Runner, job: str, slurm: FakeBackend, tmp_path: Path
) -> None:
    said = run("submit", job, "--sweep", "lr=1,2", "--sweep", "sed=1,2")
    said.ends(3, "--sweep sed: the job has no parameter `sed`")
    assert said.err.count("E309") == 1
    other = job_file(tmp_path, TEXT.replace("name: train", "name: train-lr2"), name="other.yaml")
    assert run("submit", other).code == 0
    run("submit", job, "--sweep", "lr=1,2,3").ends(4, "E511: ", f"{ME}~train-lr2 has not ended yet")
    assert len(slurm.submissions) == 1


def test_a_job_from_a_different_job_file_is_not_part_of_the_sweep(
    run: Runner, job: str, slurm: FakeBackend, tmp_path: Path, surroundings: Path
) -> None:
    assert run("submit", job, "--sweep", "lr=1").code == 0
    finish(JobFolder(path=surroundings / f"{ME}~train-lr1"), slurm)
    job_file(tmp_path, f"{TEXT}      - echo more\n")
    said = run("submit", job, "--sweep", "lr=1", "--json")
    assert [each["job_id"] for each in json.loads(said.out)["jobs"]] == ["102"]
    assert [folder.name for folder in jobs_of_group(Store(surroundings.parent), "train", user=ME)] == [
        f"{ME}~train-lr1@2"
    ]


def test_group_names_differ_by_job_and_parameters(run: Runner, job: str) -> None:
    def group(*words: str) -> str:
        return str(json.loads(run("submit", job, "--json", *words).out)["group"])

    assert [group("--sweep", values) for values in ("lr=1,2", "lr=3", "seed=1")] == ["train", "train", "train-2"]
    assert run("submit", job, "--suffix", "-x").code == 0
    assert group("--suffix", "-x", "--sweep", "lr=1") == "train-x-2", "a living job has the name"


def test_a_group_may_have_the_name_of_a_finished_job(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    def meant() -> list[str]:
        return [each["name"] for each in json.loads(run("list", "train", "--json").out)["jobs"]]

    first = JobFolder(path=surroundings / f"{ME}~train")
    assert run("submit", job).code == 0
    finish(first, slurm)
    assert json.loads(run("submit", job, "--sweep", "lr=1,2", "--json").out)["group"] == "train"
    sweep = [f"{ME}~train-lr1", f"{ME}~train-lr2"]
    assert meant() == sweep
    assert meant() == [folder.name for folder in select(Store(surroundings.parent), ["train"], user=ME)]
    journal = first.journal.read_text(encoding="utf-8")
    first.journal.write_text(re.sub(r'("happened_at": )\d+', r"\g<1>4000000000", journal, count=1), encoding="utf-8")
    assert meant() == [f"{ME}~train"], "it was submitted after the sweep"


def test_many_jobs_need_confirmation(run: Runner, job: str, slurm: FakeBackend) -> None:
    run("submit", job, "--sweep", "lr=1..101").ends(2, "E582: the sweep has 101 jobs", "`--yes`")
    dry = run("submit", job, "--sweep", "lr=1..101", "--dry-run")
    assert (dry.code, len(dry.out.splitlines()), slurm.submissions) == (0, 101, [])


@pytest.mark.parametrize("count", [3, 9])
def test_wait_for_a_sweep_ends_with_causes_and_totals(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path, count: int
) -> None:
    sweep = ("submit", job, "--sweep", f"lr=1..{count}")
    assert run(*sweep).code == 0
    for number in range(1, count + 1):
        slurm.observations[JobId(str(100 + number))] = observed("COMPLETED", final=True, job_id=str(100 + number))
        failed = {"outcome": "failed", "exit_code": 255, "behaviour": "unknown", "reason": "node n7 was lost"}
        finish(JobFolder(path=surroundings / f"{ME}~train-lr{number}"), slurm, **failed if number < 3 else {})
    for words in (sweep, ("wait", "train")):
        said = run(*words, *["--wait"][: words[0] == "submit"])
        lines = said.err.splitlines()
        assert said.code == 1
        assert sum(line.startswith(f"{ME}~train-lr") for line in lines) == count
        assert lines[-1] == f"group train: {count} jobs, {count - 2} succeeded, 2 failed"
        assert ("train-lr1, train-lr2 failed: node n7 was lost" in lines) == (count > 5)


def test_follow_is_refused_for_a_sweep(run: Runner, job: str, slurm: FakeBackend) -> None:
    assert (run("submit", job, *FOUR, "--follow").code, slurm.submissions) == (2, [])


def test_a_refusal_lists_the_submitted_jobs_in_text_and_json(
    run: Runner, job: str, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = RejectedError(Diagnostic(code="E503", message="no such qos"))
    monkeypatch.setattr(slurm, "submit", Mock(side_effect=refusal))
    document = json.loads(run("submit", job, *FOUR, "--json").out)
    assert [each["code"] for each in document["diagnostics"]] == ["E503", "E586"]


def test_the_table_has_a_column_for_each_parameter(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    run("submit", job, "--sweep", "lr=10,9", "--sweep", "seed='\x1b[2J'")
    assert len(slurm.submissions) == 2
    last = next(path for path in surroundings.iterdir() if "lr9" in path.name)
    finish(JobFolder(path=last), slurm, outcome="failed", exit_code=255, behaviour="unknown", reason="it failed")
    for order, values in (((), ["9", "10"]), (("--sort", "-param.lr"), ["10", "9"]), (("--limit", "1"), ["9"])):
        said = run("list", "--group", "train", *order)
        head, *rows = (line.split() for line in said.out.splitlines())
        assert head == ["name", "param.lr", "param.seed", "state", "elapsed", "code", "id"]
        states = {"9": "FAILED", "10": "WAITING"}
        assert [(row[1], row[3]) for row in rows] == [(value, states[value]) for value in values]
    assert "\x1b" not in said.out
    document = json.loads(run("list", "--group", "train", "--state", "failed", "--json").out)
    (row,) = document["jobs"]
    started, ended = (datetime.fromisoformat(row[key]) for key in ("started_at", "ended_at"))
    assert (document["group"], row["sweep"]["lr"], row["exit_code"]) == ("train", "9", 255)
    assert (ended - started).total_seconds() == 50
    assert run("list", "--group", "none").code == 5


def test_the_cache_of_finished_jobs_contains_their_group(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    run("submit", job, "--sweep", "lr=1..20")
    for number, name in enumerate(f"{ME}~train-lr{k}" for k in range(1, 21)):
        folder, job_id = JobFolder(path=surroundings / name), str(101 + number)
        finish(folder, slurm)
        slurm.observations[JobId(job_id)] = observed("COMPLETED", final=True, job_id=job_id)
    run("list", "--group", "train")
    run("list")
    assert (surroundings.parent / "monitor" / "ended.json").exists()
    assert len(jobs_of_group(Store(surroundings.parent), "train", user=ME)) == 20


def test_failures_are_grouped_by_their_cause_and_last_words(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    run("submit", job, "--sweep", "lr=1..7")
    for number, words in enumerate(("loss nan at 9", "no disk", "loss nan at 8", "loss nan at 7", "no disk", "x"), 1):
        folder = JobFolder(path=surroundings / f"{ME}~train-lr{number}")
        log = folder.attempt(0) / "logs" / "0-worker" / "0.stderr.log"
        log.parent.mkdir(parents=True)
        log.write_text(f"{words}\n", encoding="utf-8")
        failed = task(0, state="FAILED", exit_code=1, exit_status=1)
        trigger = {"role": "worker", "index": 0, "reason": "first failure"}
        leave_result(folder, outcome="failed", exit_code=1, reason="one task failed", tasks=[failed], trigger=trigger)
        slurm.observations[JobId(str(100 + number))] = observed("FAILED", final=True, job_id=str(100 + number))
    causes = re.findall(r"^(.*) failed: .*\n  \| (.*)$", run("status", "train").out, re.MULTILINE)
    jobs = [tuple(f"train-lr{number}" for number in numbers) for numbers in ((1, 3, 4), (2, 5), (6,))]
    assert [tuple(names.split(", ")) for names, _ in causes] == jobs
    assert [words for _, words in causes] == ["loss nan at 9", "no disk", "x"]
    # A member that has ended is among those of its unfinished sweep.
    watched = [json.loads(line) for line in run("watch", "--once", "--json").out.splitlines()]
    assert sorted(line["state"] for line in watched) == ["FAILED"] * 6 + ["WAITING"]


@pytest.mark.parametrize(
    ("cause", "again"),
    [
        ("--failed", [1, 2, 3]),
        ("--failed=out-of-memory", [1]),
        ("--failed=timeout", [2]),
        ("--failed=3", []),
        ("--failed=255", [3]),
    ],
)
def test_failed_jobs_are_submitted_again_by_cause(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path, cause: str, again: list[int]
) -> None:
    for seed, code in enumerate((-1200, -1004, 255, 0, -210), 1):
        assert run("submit", job, "--sweep", f"seed={seed}").code == 0
        outcome = "succeeded" if code == 0 else "failed"
        if code != -210:
            finish(JobFolder(path=surroundings / f"{ME}~train-seed{seed}"), slurm, outcome=outcome, exit_code=code)
    words = ("submit", job, "--sweep", "seed=1..6", "--json", cause)
    shown = json.loads(run(*words, "--dry-run").out)
    document = json.loads(run(*words).out)
    names = [f"{ME}~train-seed{seed}@2" for seed in again] + [f"{ME}~train-seed6"]
    assert [each["name"] for each in document["jobs"]] == names == [each["name"] for each in shown["jobs"]]
    assert (document["group"], len(document["present"])) == ("train", 5 - len(again))
    members = jobs_of_group(Store(surroundings.parent), "train", user=ME)
    assert {folder.name for folder in members} == {*document["present"], *names}
    assert json.loads(run(*words).out)["jobs"] == []


def test_failed_needs_a_sweep_and_a_cause(run: Runner, job: str, slurm: FakeBackend) -> None:
    run("submit", job, "--failed").ends(2, "--failed needs the --sweep")
    run("submit", "--sweep", "lr=1", "--failed", job).ends(2)
    run("submit", job, "--sweep", "lr=1", "--failed", "weather").ends(2, "--failed weather: unknown cause", "timeout")
    assert not slurm.submissions
