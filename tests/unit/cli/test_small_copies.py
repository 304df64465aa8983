"""Small copies of jobs for rehearsals with Slurm: how many tasks fit, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, get_args

import pytest

from paislurm.translator.app.input.job_input import compile_source
from paislurm.translator.app.input.source import Source
from paislurm.translator.app.rehearsal.faults import TEXTS, Fault
from paislurm.translator.app.rehearsal.small_copy import node_count, small_copy
from paislurm.translator.app.session import Session
from paislurm.translator.cli.commands.running.rehearse import FAULTS
from paislurm.translator.errors import UsageError
from tests.cluster.jobs import SITE, job_text, role

if TYPE_CHECKING:
    from pathlib import Path

    from .running import Runner

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


def source(folder: Path, text: str, **slurm: str) -> Source:
    (folder / "site.yaml").write_text(f"{SITE.read_text()}slurmVersion: 22.05.8\n")
    (folder / "job.yaml").write_text(text)
    file, site = str(folder / "job.yaml"), str(folder / "site.yaml")
    return Source(file=file, site=site, slurm=tuple(slurm.items()), backend="slurm")


@pytest.mark.parametrize(
    ("text", "nodes", "instances"),
    [
        (job_text("j", WORKERS, RESUMES), 1, [1]),
        (job_text("j", WORKERS, RESUMES), 3, [3]),
        (job_text("j", WORKERS + role("ps", 2, "serve"), RESUMES), 3, [3, 2]),
        (job_text("j", role("w", 3, "train"), RESUMES), 4, [3]),
        (json.dumps(V1), 2, [2]),
    ],
)
def test_each_role_has_as_many_tasks_as_fit(tmp_path: Path, text: str, nodes: int, instances: list[int]) -> None:
    session = Session()
    copy = small_copy(session, source(tmp_path, text), nodes)
    compiled = compile_source(session, copy, quiet=True)[1]
    assert [each.instances for each in compiled.job.roles] == instances
    assert node_count(compiled) <= nodes
    assert all((each.completion.min_succeeded or 0) <= each.instances for each in compiled.plan.roles)


@pytest.mark.parametrize(("given", "minutes"), [({}, 10), ({"time": "90s"}, 2), ({"time": "1:00:00"}, 60)])
def test_the_time_limit_is_short(tmp_path: Path, given: dict[str, str], minutes: int) -> None:
    session = Session()
    copy = small_copy(session, source(tmp_path, job_text("j", WORKERS, RESUMES), **given), 1)
    limit = compile_source(session, copy, quiet=True)[1].plan.times.limit
    assert limit is not None
    assert limit.total_seconds() == 60 * minutes


def test_too_few_nodes_are_refused(tmp_path: Path) -> None:
    roles = WORKERS + WORKERS.replace("  w:", "  v:")
    with pytest.raises(UsageError, match="one task of each role needs 2 nodes, more than --nodes 1"):
        small_copy(Session(), source(tmp_path, job_text("j", roles, RESUMES)), 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--backend", "slurm"), "--backend slurm needs the number of nodes"),
        (("--backend", "local", "--nodes", "2"), "--nodes cannot be used with --backend local"),
        (("--nodes", "1", "--time", "soon"), "--time 'soon'"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, run: Runner, words: tuple[str, ...], message: str) -> None:
    file = source(tmp_path, job_text("j", WORKERS, RESUMES)).file
    done = run("rehearse", file, "--site", str(tmp_path / "site.yaml"), *words)
    assert (done.code, message in done.err, "error E5" in done.err) == (2, True, True), done.err


def test_the_command_knows_each_fault() -> None:
    assert get_args(Fault) == FAULTS == tuple(TEXTS)
