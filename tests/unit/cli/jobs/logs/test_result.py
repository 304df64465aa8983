"""The result of a job: where it is found, and where it is shown."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.translator.app.log_reading import numbers, result_of
from paislurm.translator.app.session import user_name
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import JobRole

from ....monitor.jobs import FakeBackend
from ....report.made import RUN
from ...running import JOB, Runner, finish, job_file

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


@pytest.mark.usefixtures("profile")
def test_comparisons_show_the_result(run: Runner, slurm: FakeBackend, surroundings: Path, tmp_path: Path) -> None:
    text = JOB.replace("name: demo", "name: train\nparameters: {lr: 1}\nextras: {slurm: {result: 'loss=(.*)'}}")
    assert run("submit", job_file(tmp_path, text), "--sweep", "lr=10,9,8").code == 0
    for number, (lr, loss) in enumerate((("10", "0.50"), ("9", "1e-05"), ("8", "none")), 101):
        folder = JobFolder(path=surroundings / f"{user_name()}~train-lr{lr}")
        printed(folder, "0-worker/0.stdout.log", f"loss={loss}\n")
        finish(folder, slurm, job_id=str(number))
    rows = [line.split() for line in run("list", "--group", "train").out.splitlines()]
    assert [row[:3] for row in rows] == [
        ["name", "param.lr", "result"],
        ["train-lr8", "8", "-"],
        ["train-lr9", "9", "1e-05"],
        ["train-lr10", "10", "0.5"],
    ]
    listed = run("list", "train-*", "--columns", "name,result", "--sort", "result")
    assert [line.split() for line in listed.out.splitlines()[1:]] == [
        ["train-lr9", "1e-05"],
        ["train-lr10", "0.5"],
        ["train-lr8", "-"],
    ]
    assert run.json("list", "train-lr9")["jobs"][0]["result"] == 1e-05
    for words, texts in (
        (("--group", "train"), ('<th scope="col" class="n">Result</th>', '<td class="n">1e-05</td>')),
        (("train-lr10",), ("<dt>Result</dt><dd>0.5</dd>",)),
    ):
        assert run("report", *words, "-o", str(tmp_path / "page.html")).code == 0
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert [text for text in texts if text not in page] == []
