"""`status` of many jobs: a row each, why some failed, and how many there are; a few are told in short."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from string import ascii_lowercase
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app import failed_task
from paislurm.translator.app.session import user_name
from paislurm.translator.cli.output import several
from paislurm.translator.cli.output.several import A_FEW, NAMES, READ, REASONS
from tests.clock import clock

from ...monitor.jobs import (
    CREATED,
    ENDED,
    INTENT,
    ROLES,
    SUBMITTED,
    FakeBackend,
    job_folder,
    leave_result,
    observed,
    task,
)
from ..running import Runner

ME = user_name()
LOSS = "task worker-1 failed: 1 failed of role worker complete the job"


@pytest.fixture
def train(surroundings: Path, slurm: FakeBackend) -> Callable[..., None]:
    """Make jobs of the group `train`: those that failed with their reasons, others that succeeded, and one runs."""

    def make(*reasons: str, succeeded: int = 0, runs: bool = False) -> None:
        at = clock() - 100
        states = ["FAILED"] * len(reasons) + ["SUCCEEDED"] * succeeded + ["RUNNING"] * runs
        for number, state in enumerate(states):
            name, job_id = f"train-{number}", str(100 + number)
            own = {"job": name, "user": ME, "happened_at": at - number}
            reason = reasons[number] if state == "FAILED" else "all is well"
            end = replace(ENDED, reason=reason, state=state, exit_code=255 * (state == "FAILED"), ended_at=at)
            records = [replace(CREATED, **own, group="train"), INTENT, replace(SUBMITTED, **own, job_id=job_id), end]
            folder = job_folder(surroundings, *records[: 3 if state == "RUNNING" else 4], name=f"{ME}~{name}")
            if state == "FAILED":
                leave_result(folder, outcome="failed", exit_code=255, reason=reason, tasks=[
                    task(0, state="STOPPED"), task(1, state="FAILED", exit_status=3, exit_code=255),
                ])  # fmt: skip
                log = folder.log(0, ROLES[0], 1, 0, "stderr")
                log.parent.mkdir(parents=True)
                log.write_text(f"epoch 1\nlost at \x1b[1m{number}\n", encoding="utf-8")
            slurm.observations[JobId(job_id)] = observed("RUNNING", job_id=job_id, started=at)

    return make


def test_each_job_has_a_row_and_each_failure_reason_appears_once(
    run: Runner, train: Callable[..., None], slurm: FakeBackend
) -> None:
    train(LOSS, LOSS, "node n7 was lost", succeeded=56, runs=True)
    said = run("status", "train")
    table, *rest = said.out.removesuffix("\n").split("\n\n")
    rows = [tuple(line.split()[:2]) for line in table.splitlines()]
    states = ["FAILED"] * 3 + ["SUCCEEDED"] * 56 + ["WAITING"]
    assert rows == [("name", "state"), *((f"train-{number}", state) for number, state in enumerate(states))]
    assert rest == [
        f"train-0, train-1 failed: {LOSS}\n  | lost at \\x1b[1m0",
        "train-2 failed: node n7 was lost\n  | lost at \\x1b[1m2",
        "group train: 60 jobs, 1 waiting, 56 succeeded, 3 failed",
    ]
    assert (said.err, slurm.queries) == ("for the details of one job: paislurm status train-0\n", 1)


def test_many_reasons_and_jobs_are_limited_to_a_screen(
    run: Runner, train: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    print_many = several.print_many

    def counting(lines: object, now: object, failure_of: Callable[[str], object], **options: object) -> None:
        def looking(name: str) -> object:
            looked.append(name)
            return failure_of(name)

        print_many(lines, now, looking, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(several, "print_many", counting)
    # Only the failure of one job is worth the starts of bash that find its command.
    monkeypatch.setattr(failed_task, "command_place", Mock(side_effect=AssertionError))
    train(*(f"reason {letter}" for letter in ascii_lowercase[:20]), *([LOSS] * 40))
    below = run("status", "train-*").out.partition("\n\n")[2]
    assert len(below.splitlines()) < 24
    assert below.startswith("train-20, train-21, train-22, train-23 and 26 more failed: task worker-1")
    assert below.count("\n  | lost at ") == REASONS
    # The logs of ten failures are not read.
    assert f"and {10 + 20 - (REASONS - 1)} more failed: paislurm list --state failed" in below
    assert below.endswith("\n60 jobs, 60 failed\n")
    assert len(looked) == READ == 50


def test_a_few_jobs_are_summarized_with_one_line_for_their_group(run: Runner, train: Callable[..., None]) -> None:
    train(LOSS, succeeded=A_FEW - 1)
    said = run("status", "train").out.removesuffix("\n").split("\n\n")
    assert len(said) == A_FEW + 1
    assert said[0].split()[:2] == ["job", f"{ME}~train-0"]
    assert [line.split(None, 2) for line in said[0].splitlines()][3] == ["last", "line", "lost at \\x1b[1m0"]
    assert all("last line" not in each for each in said[1:])
    assert said[-1] == "group train: 5 jobs, 4 succeeded, 1 failed"
    assert "5 jobs" not in run("status", "train-*").out


def test_jobs_that_all_succeeded_have_no_reasons(run: Runner, train: Callable[..., None]) -> None:
    train(succeeded=A_FEW + 1)
    table, total = run("status", "train-*").out.split("\n\n")
    assert len(table.splitlines()) == 1 + 6
    assert total == "6 jobs, 6 succeeded\n"


def test_json_has_the_same_form_for_few_and_many_jobs(run: Runner, train: Callable[..., None]) -> None:
    train(LOSS, succeeded=A_FEW + NAMES)
    jobs = run.json("status", "train-*")["jobs"]
    assert len(jobs) == 1 + A_FEW + NAMES
    assert set(jobs[0]) == set(run.json("status", "train-0")) - {"schemaVersion"}


def test_only_jobs_with_matching_tasks_are_shown(run: Runner, train: Callable[..., None]) -> None:
    train(LOSS, LOSS, succeeded=6)
    out = run("status", "train", "--failed").out
    shown = [line.split()[1] for line in out.splitlines() if line.startswith("job ")]
    assert (shown, "group train" in out) == ([f"{ME}~train-0", f"{ME}~train-1"], False)
    none = run("status", "train-*", "--state", "running")
    assert (none.code, none.out, none.err) == (0, "", "no job has matching tasks\n")
