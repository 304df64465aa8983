"""`diff`: what differs between two jobs, as its exit code says, too."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from paislurm.translator.state.job_folder import JobFolder

from ..app.submit.test_recording import WITH_PARAMETERS
from .running import Runner, job_file

pytestmark = pytest.mark.usefixtures("slurm", "profile")
USES_LR = WITH_PARAMETERS.replace("echo and bye", "echo <% $parameters.lr %>")


@pytest.fixture
def two(run: Runner, demo: JobFolder, tmp_path: Path) -> JobFolder:
    """Submit a job twice under two names, and with other values; return the folder of the first."""
    job = job_file(tmp_path, USES_LR)
    assert run("submit", job).code == 0
    assert run("submit", job, "--suffix", "-2", "--set", "lr=0.2").code == 0
    return demo


def test_two_jobs_are_compared(run: Runner, two: JobFolder) -> None:
    said = run("diff", "demo", "demo-2")
    assert (said.code, said.out.count(f"--- {two.name}\n+++ {two.name}-2\n")) == (1, 2)
    assert '-  "job": "demo",\n+  "job": "demo-2",\n' in said.out.replace("  ", " ").replace(' "job"', '  "job"')
    assert [words in said.out for words in ("\n-echo 0.1\n+echo 0.2\n", "paislurm runtime")] == [True, False]
    document = json.loads(run("diff", "demo", "demo-2", "--json").out)
    assert (document["same"], document["compared"]) == (False, [two.name, f"{two.name}-2"])
    assert "\n+echo 0.2\n" in document["script_difference"]


@pytest.mark.usefixtures("slurm", "profile", "two")
def test_equal_jobs_have_no_differences(run: Runner, tmp_path: Path) -> None:
    for other in ("demo", str(tmp_path / "job.yaml")):
        said = run("diff", "demo", other)
        assert (said.code, said.out) == (0, "")
    assert json.loads(run("diff", "demo", "demo", "--json").out)["same"] is True


def test_a_file_is_compiled_with_the_options_of_the_job(run: Runner, two: JobFolder, tmp_path: Path) -> None:
    file = job_file(tmp_path, USES_LR.replace("instances: 2", "instances: 3"))
    said = run("diff", "demo-2", file)
    assert (said.code, f"--- {two.name}-2\n+++ {file}\n" in said.out) == (1, True)
    assert re.findall(r'^([-+])\s+"instances": (\d),$', said.out, re.MULTILINE) == [("-", "2"), ("+", "3")]
    assert not re.search("^[-+]echo", said.out, re.MULTILINE)


def test_jobs_or_files_that_cannot_be_compared_exit_with_2(run: Runner, two: JobFolder, tmp_path: Path) -> None:
    wrong = job_file(tmp_path, "name: [", name="wrong.yaml")
    assert [run("diff", *each).code for each in (("demo", "none"), ("none", "demo"), ("demo", wrong))] == [2, 2, 2]
    (two.path / "plan.json").write_text("{", encoding="utf-8")
    said = run("diff", "demo", "demo-2")
    said.ends(2, "error E579: cannot compare the recorded")
    assert said.out == ""
    (two.path / "plan.json").unlink()
    assert run("diff", "demo-2", "demo", "--json").code == 2
