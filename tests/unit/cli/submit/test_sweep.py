"""`submit --sweep`: what is printed of a sweep and of its jobs."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app.session import user_name
from paislurm.translator.state.job_folder import JobFolder

from ...monitor.jobs import FakeBackend, leave_result, observed, task
from ..running import JOB, Runner, finish, job_file

TEXT = JOB.replace("name: demo", "name: train\nparameters: {lr: 1, seed: 1}")
FOUR = ("--sweep", "lr=0.1,0.01", "--sweep", "seed=1..2")
pytestmark = pytest.mark.usefixtures("slurm", "profile")


@pytest.fixture
def job(tmp_path: Path) -> str:
    return job_file(tmp_path, TEXT)


def test_a_dry_run_names_the_existing_jobs(run: Runner, job: str, slurm: FakeBackend) -> None:
    first = run("submit", job, "--sweep", "lr=1", "--dry-run")
    assert (first.code, first.out) == (0, f"{user_name()}~train-lr1 would be submitted\n")
    assert first.err.splitlines()[-1] == "group train: dry run: 1 job would be submitted"
    assert "group train: 1 job submitted\n" in run("submit", job, "--sweep", "lr=1").err
    more = run("submit", job, "--sweep", "lr=1,2", "--dry-run")
    assert more.out == f"{user_name()}~train-lr2 would be submitted\n"
    assert "group train: dry run: 1 job would be submitted, 1 was submitted before\n" in more.err
    said = run("submit", job, "--sweep", "lr=1", "--dry-run")
    told = "group train: dry run: 0 jobs would be submitted, 1 was submitted before\n"
    said.ends(0, told, "to submit all of them again under other names")
    assert (said.out, len(slurm.submissions)) == ("", 1)


def test_follow_is_refused_for_a_sweep(run: Runner, job: str, slurm: FakeBackend) -> None:
    assert (run("submit", job, *FOUR, "--follow").code, slurm.submissions) == (2, [])


@pytest.mark.parametrize("count", [3, 9])
def test_wait_for_a_sweep_ends_with_causes_and_totals(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path, count: int
) -> None:
    sweep = ("submit", job, "--sweep", f"lr=1..{count}")
    assert run(*sweep).code == 0
    for number in range(1, count + 1):
        slurm.observations[JobId(str(100 + number))] = observed("COMPLETED", final=True, job_id=str(100 + number))
        failed = {"outcome": "failed", "exit_code": 255, "behaviour": "unknown", "reason": "node n7 was lost"}
        finish(JobFolder(path=surroundings / f"{user_name()}~train-lr{number}"), slurm, **failed if number < 3 else {})
    for words in (sweep, ("wait", "train")):
        said = run(*words, *["--wait"][: words[0] == "submit"])
        lines = said.err.splitlines()
        assert said.code == 1
        assert sum(line.startswith(f"{user_name()}~train-lr") for line in lines) == count
        assert lines[-1] == f"group train: {count} jobs, {count - 2} succeeded, 2 failed"
        assert ("train-lr1, train-lr2 failed: node n7 was lost" in lines) == (count > 5)


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


def test_failures_are_grouped_by_their_cause_and_last_words(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    run("submit", job, "--sweep", "lr=1..7")
    for number, words in enumerate(("loss nan at 9", "no disk", "loss nan at 8", "loss nan at 7", "no disk", "x"), 1):
        folder = JobFolder(path=surroundings / f"{user_name()}~train-lr{number}")
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


def test_failed_needs_a_sweep_and_a_cause(run: Runner, job: str, slurm: FakeBackend) -> None:
    run("submit", job, "--failed").ends(2, "--failed needs the --sweep")
    run("submit", "--sweep", "lr=1", "--failed", job).ends(2)
    run("submit", job, "--sweep", "lr=1", "--failed", "weather").ends(2, "--failed weather: unknown cause", "timeout")
    assert not slurm.submissions
