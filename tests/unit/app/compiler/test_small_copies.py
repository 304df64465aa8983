"""Small copies of jobs for rehearsals, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paislurm.translator.app.input.job_input import compile_source
from paislurm.translator.app.input.source import Source
from paislurm.translator.app.session import Session
from tests.cluster.jobs import SITE, job_text, role

from ..asked import Asked

BIG = "resourcePerInstance: {cpu: 10,"
RESUMES = "{slurm: {time: 1-00:00:00, resumes: {file: ./run/*}}}"
WORKERS = role("w", 40, "train", failed=30, succeeded=40).replace("resourcePerInstance: {cpu: 1,", BIG)
V1 = {
    "jobName": "old",
    "image": "x",
    "taskRoles": [
        {"name": "w", "taskNumber": 40, "cpuNumber": 10, "memoryMB": 100, "gpuNumber": 0, "command": "train",
         "minSucceededTaskCount": 40}
    ],
}  # fmt: skip


def source(folder: Path, text: str, most_tasks: int | None = None) -> Source:
    (folder / "site.yaml").write_text(f"{SITE.read_text()}slurmVersion: 22.05.8\n")
    (folder / "job.yaml").write_text(text)
    file, site = str(folder / "job.yaml"), str(folder / "site.yaml")
    return Source(file=file, site=site, most_tasks=most_tasks)


@pytest.mark.parametrize(
    ("text", "tasks", "instances"),
    [
        (job_text("j", WORKERS, RESUMES), 1, [1]),
        (job_text("j", WORKERS + role("ps", 2, "serve"), RESUMES), 3, [3, 2]),
        (json.dumps(V1), 2, [2]),
        (job_text("j", role("w", 3, "train"), RESUMES), None, [3]),
    ],
)
def test_each_role_has_at_most_some_tasks(tmp_path: Path, text: str, tasks: int | None, instances: list[int]) -> None:
    compiled = compile_source(Session(), source(tmp_path, text, most_tasks=tasks), quiet=True)[1]
    assert [each.instances for each in compiled.job.roles] == instances
    assert all((each.completion.min_succeeded or 0) <= each.instances for each in compiled.plan.roles)


def test_a_job_is_not_rehearsed_through_a_login_node(tmp_path: Path, asked: Asked) -> None:
    file = source(tmp_path, job_text("j", WORKERS, RESUMES)).file
    (tmp_path / "site.yaml").write_text((tmp_path / "site.yaml").read_text() + "host: there\n")
    asked.jobs.rehearse(file, site=str(tmp_path / "site.yaml"), backend="slurm", tasks=1).ends(
        2, "a job cannot be rehearsed through a login node"
    )
