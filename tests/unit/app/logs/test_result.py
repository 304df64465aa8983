"""The result of a job: where it is found, and where it is shown."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.translator.app.log_reading import numbers, result_of
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import JobRole

from ...report.made import RUN

ROLES = (JobRole(name="ps", folder="0-ps", instances=1), JobRole(name="worker", folder="1-worker", instances=2))
PATTERN = r"loss[=:]\s*(\S+)"


def printed(folder: JobFolder, name: str, text: str, attempt: int = 0, at: int = 1000) -> None:
    path = folder.attempt(attempt) / "logs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at, at))


@pytest.mark.parametrize(
    ("pattern", "text", "value"),
    [
        (PATTERN, "loss=0.5\nloss=0.25\nbye\n", 0.25),
        (PATTERN, "loss: 1e-3\nloss: nan\n", 0.001),
        (PATTERN, "10% loss=3\r20% loss=2\r100% loss=1\n", 1.0),
        (r"^\d+$", "12\nstep 13\n", 12.0),
        (r"loss=(\S+)|accuracy=(\S+)", "loss=2\naccuracy=3\n", 2.0),
        (PATTERN, "loss=low\n", None),
        (PATTERN, "", None),
        (None, "loss=0.5\n", None),
    ],
)
def test_the_result_is_the_last_number_that_matches_the_pattern(
    tmp_path: Path, pattern: str | None, text: str, value: float | None
) -> None:
    folder = JobFolder(path=tmp_path)
    printed(folder, "1-worker/0.stderr.log", text)
    assert result_of(folder, 0, ROLES, replace(RUN, result_pattern=pattern)) == value
    assert result_of(folder, 0, ROLES, None) is None


@pytest.mark.parametrize("pattern", ["(a+)+$", "(x+x+)+y", "("])
def test_an_expression_that_never_ends_takes_the_results_of_no_other_job(pattern: str) -> None:
    lines = ("a" * 60 + "!", "x" * 60)
    good = (PATTERN, ("loss=0.5",))
    assert numbers([good, (pattern, lines), None, good, (PATTERN, ())]) == [0.5, None, None, 0.5, None]


def test_the_result_comes_from_the_newest_log_of_the_first_task(tmp_path: Path) -> None:
    folder = JobFolder(path=tmp_path)
    found = partial(result_of, folder, 0, ROLES, replace(RUN, result_pattern=PATTERN))
    printed(folder, "1-worker/1.stdout.log", "loss=9\n")
    assert found() is None
    printed(folder, "1-worker/0.stdout.log", "loss=4\n", at=1000)
    printed(folder, "1-worker/0.stdout.1.log", "loss=3\n", at=2000)
    printed(folder, "1-worker/0.stderr.1.log", "no number\n", at=3000)
    assert found() == 3
    printed(folder, "0-ps/0.stdout.log", "loss=1\n")
    assert (found(), result_of(folder, 1, ROLES, replace(RUN, result_pattern=PATTERN))) == (1, None)
