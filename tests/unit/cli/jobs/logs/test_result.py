"""The result of a job in tables and reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from paislurm.translator.app.session import user_name
from paislurm.translator.state.job_folder import JobFolder

from ....app.logs.test_result import printed
from ....monitor.jobs import FakeBackend
from ...running import JOB, Runner, finish, job_file


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
