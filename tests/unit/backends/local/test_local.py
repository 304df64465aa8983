"""The local backend, for real: scripts of every kind run on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paislurm.backends.base import JobId, Submission
from paislurm.translator.errors import NotFoundError, RejectedError

from ..running import Runs


def test_a_script_gets_its_arguments_and_slurm_variables(runs: Runs) -> None:
    log = runs.run(
        'echo "$#:$2:$3 $PWD"; echo "$SLURM_JOB_ID $SLURM_JOB_NAME $SLURM_JOB_NODELIST $SLURM_NTASKS"',
        "#SBATCH --job-name=a.b~c\n#SBATCH --nodes=2 --ntasks-per-node=3\n",
    )
    assert log == [f"3:0:tag {runs.folder / 'job-0'}", "1 a.b~c localhost,localhost 6"]


def test_records_contain_their_format_version(runs: Runs) -> None:
    runs.run("true")
    found = {file.name: json.loads(file.read_text())["version"] for file in runs.folder.rglob("*.json")}
    assert found == {"job.json": 1, "state.json": 1}


def test_the_environment_is_scrubbed(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "SLURM_JOB_PARTITION",
        "SBATCH_QOS",
        "SRUN_DEBUG",
        "PMIX_RANK",
        "PMI_RANK",
        "SLURM_RESTART_COUNT",
    ):
        monkeypatch.setenv(name, "leaked")
    monkeypatch.setenv("MINE", "kept")
    assert runs.run("env | grep -c leaked; echo $MINE") == ["0", "kept"]


def test_each_component_has_its_own_variables(runs: Runs) -> None:
    log = runs.run(
        'echo "$SLURM_HET_SIZE $SLURM_TASKS_PER_NODE $SLURM_JOB_ID_HET_GROUP_1"\n'
        'echo "$SLURM_TASKS_PER_NODE_HET_GROUP_1 $SLURM_JOB_NODELIST_HET_GROUP_1"\n'
        'echo "$SLURM_JOB_NUM_NODES_HET_GROUP_1"\n'
        'scontrol show hostnames "$SLURM_JOB_NODELIST,$SLURM_JOB_NODELIST_HET_GROUP_1"',
        "#SBATCH --ntasks=4\n#SBATCH hetjob\n#SBATCH --nodes=3 --ntasks=8\n",
    )
    assert log == ["2 4 1", "3(x2),2 localhost,localhost,localhost", "1", *["localhost"] * 4]


def test_success_and_failure_are_recorded(runs: Runs) -> None:
    ends = [runs.end(job_id) for job_id in [runs.submit(commands) for commands in ("true", "exit 7", "kill -9 $$")]]
    found = [(end.state, end.status, end.signal) for end in ends]
    assert found == [("COMPLETED", 0, 0), ("FAILED", 7, 0), ("FAILED", 0, 9)]
    seen = ends[1]
    assert None not in (seen.submitted, seen.started, seen.ended)
    assert seen.nodes == "localhost"


def test_job_ids_count_from_one(runs: Runs) -> None:
    assert [runs.submit("true") for _ in range(3)] == ["1", "2", "3"]


def test_an_unknown_job_is_not_in_the_answer(runs: Runs) -> None:
    assert runs.backend.observe([JobId("77")]) == {}
    with pytest.raises(NotFoundError):
        runs.backend.cancel(JobId("77"))


def test_a_job_is_found_by_its_tag(runs: Runs) -> None:
    runs.submit("true", tag="first")
    second = runs.submit("true", tag="second")
    assert runs.backend.find(["second", "third"]) == {"second": second}


def test_an_invalid_directive_is_refused(runs: Runs) -> None:
    with pytest.raises(RejectedError, match="invalid time limit: soon"):
        runs.submit("true", "#SBATCH --time=soon\n")


def test_a_script_that_cannot_start_is_refused(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("#!/bin/bash\n", encoding="utf-8")
    submission = Submission(
        script=tmp_path / "s", folder=tmp_path, job="job", attempt=0, tag="t", log=tmp_path / "none" / "slurm.log"
    )
    with pytest.raises(RejectedError, match="No such file or directory"):
        runs.backend.submit(submission)
