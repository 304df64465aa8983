"""`submit --sweep`: all jobs or none are right, each is submitted once, and the group can be looked at."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from paislurm.backends.base import Accepted, JobId, Submission
from paislurm.translator.app.jobs.selecting import jobs_of_group, select
from paislurm.translator.app.session import user_name
from paislurm.translator.errors import Diagnostic, RejectedError, UnreachableError
from paislurm.translator.state.job_folder import JobFolder, Store

from ...cli.running import JOB, finish, job_file
from ...monitor.jobs import FakeBackend, observed
from ..asked import Asked

ME = user_name()
TEXT = JOB.replace("name: demo", "name: train\nparameters: {lr: 1, seed: 1}")
FOUR = ("lr=0.1,0.01", "seed=1..2")
NAMES = [f"{ME}~train-lr{lr}-seed{seed}" for lr in ("0_1", "0_01") for seed in (1, 2)]


pytestmark = pytest.mark.usefixtures("slurm", "profile")


@pytest.fixture
def job(tmp_path: Path) -> str:
    return job_file(tmp_path, TEXT)


def test_each_point_is_a_separate_job(asked: Asked, job: str, slurm: FakeBackend, surroundings: Path) -> None:
    made = asked.sweeps.submit(job, *FOUR).document
    assert [(each["name"], each["job_id"]) for each in made["jobs"]] == [
        (name, str(101 + k)) for k, name in enumerate(NAMES)
    ]
    known = JobFolder(path=surroundings / NAMES[2]).history()
    assert (known.group, dict(known.sweep)) == ("train", {"lr": "0.01", "seed": "1"})
    assert len(slurm.submissions) == 4
    store = Store(surroundings.parent)
    assert [folder.name for folder in select(store, ["train"], user=ME)] == sorted(NAMES)
    assert jobs_of_group(store, "", user=ME) == []


def test_repeating_the_command_submits_only_missing_jobs(asked: Asked, job: str, slurm: FakeBackend) -> None:
    taken: list[Submission] = []

    def submit(submission: Submission) -> Accepted:
        if len(taken) == 2:
            raise UnreachableError(Diagnostic(code="E501", message="the controller is away"))
        taken.append(submission)
        slurm.observations[JobId(str(len(taken)))] = observed("PENDING", job_id=str(len(taken)))
        return Accepted(JobId(str(len(taken))))

    whole = slurm.submit
    slurm.submit = submit  # type: ignore[method-assign]
    asked.sweeps.submit(job, *FOUR).ends(
        6, "E586: 2 of 4 jobs of train are submitted", "run the same command again to submit the others"
    )
    slurm.submit = whole  # type: ignore[method-assign]
    document = asked.sweeps.submit(job, *FOUR).document
    assert (document["group"], [each["name"] for each in document["jobs"]]) == ("train", NAMES[2:])
    assert document["present"] == NAMES[:2]
    assert [submission.job for submission in slurm.submissions] == [name.partition("~")[2] for name in NAMES[2:]]
    assert asked.sweeps.submit(job, *FOUR).document["jobs"] == []


def test_a_job_that_never_reached_slurm_counts_as_missing(
    asked: Asked, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    """As after kill -9 between the intent and sbatch: it has ended by the time that somebody looks again."""
    assert asked.sweeps.submit(job, "lr=1,2").code == 0
    folder = JobFolder(path=surroundings / f"{ME}~train-lr1")
    created, intent, *_ = folder.journal.read_bytes().splitlines(keepends=True)
    folder.journal.write_bytes(created + re.sub(rb'"happened_at": \d+', b'"happened_at": 1000', intent))
    slurm.tags.clear()
    document = asked.sweeps.submit(job, "lr=1,2").document
    names = [[each["name"] for each in document["jobs"]], document["present"]]
    assert names == [[f"{ME}~train-lr1@2"], [f"{ME}~train-lr2"]]


def test_nothing_is_submitted_if_any_job_is_invalid_or_its_name_taken(
    asked: Asked, job: str, slurm: FakeBackend, tmp_path: Path
) -> None:
    said = asked.sweeps.submit(job, "lr=1,2", "sed=1,2")
    said.ends(3, "--sweep sed: the job has no parameter `sed`")
    assert said.err.count("E309") == 1
    other = job_file(tmp_path, TEXT.replace("name: train", "name: train-lr2"), name="other.yaml")
    assert asked.jobs.submit(other).code == 0
    asked.sweeps.submit(job, "lr=1,2,3").ends(4, "E511: ", f"{ME}~train-lr2 has not ended yet")
    assert len(slurm.submissions) == 1


def test_a_job_from_a_different_job_file_is_not_part_of_the_sweep(
    asked: Asked, job: str, slurm: FakeBackend, tmp_path: Path, surroundings: Path
) -> None:
    assert asked.sweeps.submit(job, "lr=1").code == 0
    finish(JobFolder(path=surroundings / f"{ME}~train-lr1"), slurm)
    job_file(tmp_path, f"{TEXT}      - echo more\n")
    said = asked.sweeps.submit(job, "lr=1")
    assert [each["job_id"] for each in said.document["jobs"]] == ["102"]
    assert [folder.name for folder in jobs_of_group(Store(surroundings.parent), "train", user=ME)] == [
        f"{ME}~train-lr1@2"
    ]


def test_group_names_differ_by_job_and_parameters(asked: Asked, job: str) -> None:
    def group(values: str, **options: str) -> str:
        return str(asked.sweeps.submit(job, values, **options).value.group)

    assert [group(values) for values in ("lr=1,2", "lr=3", "seed=1")] == ["train", "train", "train-2"]
    assert asked.jobs.submit(job, suffix="-x").code == 0
    assert group("lr=1", suffix="-x") == "train-x-2", "a living job has the name"


def test_a_group_may_have_the_name_of_a_finished_job(
    asked: Asked, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    def meant() -> list[str]:
        return sorted(each.name for each in asked.jobs.list("train").value)

    first = JobFolder(path=surroundings / f"{ME}~train")
    assert asked.jobs.submit(job).code == 0
    finish(first, slurm)
    assert asked.sweeps.submit(job, "lr=1,2").document["group"] == "train"
    sweep = [f"{ME}~train-lr1", f"{ME}~train-lr2"]
    assert meant() == sweep
    assert meant() == [folder.name for folder in select(Store(surroundings.parent), ["train"], user=ME)]
    journal = first.journal.read_text(encoding="utf-8")
    first.journal.write_text(re.sub(r'("happened_at": )\d+', r"\g<1>4000000000", journal, count=1), encoding="utf-8")
    assert meant() == [f"{ME}~train"], "it was submitted after the sweep"


def test_many_jobs_need_confirmation(asked: Asked, job: str, slurm: FakeBackend) -> None:
    asked.sweeps.submit(job, "lr=1..101", many=False).ends(2, "E582: the sweep has 101 jobs", "`--yes`")
    dry = asked.sweeps.submit(job, "lr=1..101", dry_run=True, many=False)
    assert (len(dry.value.submitted), slurm.submissions) == (101, [])


def test_a_refusal_lists_the_submitted_jobs_in_text_and_json(
    asked: Asked, job: str, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = RejectedError(Diagnostic(code="E503", message="no such qos"))
    monkeypatch.setattr(slurm, "submit", Mock(side_effect=refusal))
    asked.sweeps.submit(job, *FOUR).ends(4, "error E503", "error E586")


def test_the_cache_of_finished_jobs_contains_their_group(
    asked: Asked, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    asked.sweeps.submit(job, "lr=1..20")
    for number, name in enumerate(f"{ME}~train-lr{k}" for k in range(1, 21)):
        folder, job_id = JobFolder(path=surroundings / name), str(101 + number)
        finish(folder, slurm)
        slurm.observations[JobId(job_id)] = observed("COMPLETED", final=True, job_id=job_id)
    asked.jobs.list(group="train")
    asked.jobs.list()
    assert (surroundings.parent / "monitor" / "ended.json").exists()
    assert len(jobs_of_group(Store(surroundings.parent), "train", user=ME)) == 20


@pytest.mark.parametrize(
    ("cause", "again"),
    [
        ("any", [1, 2, 3]),
        ("out-of-memory", [1]),
        ("timeout", [2]),
        ("3", []),
        ("255", [3]),
    ],
)
def test_failed_jobs_are_submitted_again_by_cause(
    asked: Asked, job: str, slurm: FakeBackend, surroundings: Path, cause: str, again: list[int]
) -> None:
    for seed, code in enumerate((-1200, -1004, 255, 0, -210), 1):
        assert asked.sweeps.submit(job, f"seed={seed}").code == 0
        outcome = "succeeded" if code == 0 else "failed"
        if code != -210:
            finish(JobFolder(path=surroundings / f"{ME}~train-seed{seed}"), slurm, outcome=outcome, exit_code=code)
    shown = asked.sweeps.submit(job, "seed=1..6", failed=cause, dry_run=True).document
    document = asked.sweeps.submit(job, "seed=1..6", failed=cause).document
    names = [f"{ME}~train-seed{seed}@2" for seed in again] + [f"{ME}~train-seed6"]
    assert [each["name"] for each in document["jobs"]] == names == [each["name"] for each in shown["jobs"]]
    assert (document["group"], len(document["present"])) == ("train", 5 - len(again))
    members = jobs_of_group(Store(surroundings.parent), "train", user=ME)
    assert {folder.name for folder in members} == {*document["present"], *names}
    assert asked.sweeps.submit(job, "seed=1..6", failed=cause).document["jobs"] == []
