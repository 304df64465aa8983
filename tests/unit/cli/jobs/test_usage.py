"""What sstat says that a job uses: which step is whose, and what is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.backends.runner import Completed, missing
from paislurm.translator.app.session import Session
from paislurm.translator.app.usage import RunningRole, usages_of_steps
from paislurm.translator.monitor.task_status import TaskView
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.kept_plan import KeptResources

from ...monitor.jobs import NOW, FakeBackend, observed
from ..running import Runner

LINES = "7.batch|1|00:00:00|9|9|\n7.3|2|00:00:30|10485760|20971520|\n8.0|1|00:00:10|1048576|1048576|gres/gpuutil=40\n"


@dataclass
class Said:
    """Answers every program with the same text, and remembers what was asked."""

    text: str
    asked: list[list[str]] = field(default_factory=list)

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        self.asked.append(list(argv))
        if self.text == "missing":
            raise missing(argv)
        return Completed(status=0, stdout=self.text, stderr="")


def running(name: str, count: int, step: int, component: int | None, ago: int = 60) -> RunningRole:
    tasks = [
        TaskView(role=name, index=index, task_attempt=0, state="RUNNING", node="n1", started_at=NOW - ago)
        for index in range(count)
    ]
    return RunningRole(name=name, component=component, step=step, tasks=tasks, requested=KeptResources(cpus=4))


WORKER, PS = running("worker", 2, 3, 0), running("ps", 1, 0, 1, ago=10)


def test_sstat_queries_each_component_separately() -> None:
    said = Said(LINES)
    worker, ps = usages_of_steps(said, 7, [WORKER, PS], NOW)
    assert "--jobs=7,8" in said.asked[0]
    assert (len(said.asked), worker.running_tasks, worker.requested_cpus) == (1, 2, 4)
    assert (worker.cpus_busy, worker.used_memory_mib, worker.max_memory_mib) == (0.5, 10, 20)
    assert (ps.cpus_busy, ps.gpu_percent, ps.gpu_memory_mib) == (1.0, 40, None)


def test_ranks_are_summed_up_per_task() -> None:
    (found,) = usages_of_steps(Said(LINES), 7, [running("worker", 1, 3, None)], NOW)
    assert (found.cpus_busy, found.used_memory_mib, found.max_memory_mib) == (1.0, 20, 20)


@pytest.mark.parametrize("text", ["", "7.3|2|00:00:30|0|0|\n", LINES.replace("8.0", "9.0")])
def test_without_sstat_data_no_usage_is_returned(text: str) -> None:
    assert usages_of_steps(Said(text), 7, [WORKER, PS], NOW) == ()


def test_roles_in_one_step_have_no_separate_usage() -> None:
    said = Said(LINES)
    assert usages_of_steps(said, 7, [replace(WORKER, component=None), replace(PS, component=None, step=3)], NOW) == ()
    assert said.asked == []


@pytest.fixture
def running_folder(slurm: FakeBackend, folder: JobFolder) -> JobFolder:
    """Let two tasks run."""
    slurm.observations[JobId("7")] = observed("RUNNING")
    folder.reports(0).mkdir()
    (folder.reports(0) / "n1.log").write_text("start 0 0 0 0 n1 0 100\nstart 0 1 1 0 n1 0 100\n", encoding="utf-8")
    return folder


def test_status_shows_the_usage_of_running_tasks(run: Runner, running_folder: JobFolder) -> None:
    plan = {"roles": [{"name": "worker", "resources": {"cpus": 4, "memory_mib": 4096}}]}
    (running_folder.path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    said = Said("7.0|2|00:00:30|1024M|2048M|gres/gpuutil=40\n")
    with patch.object(Session, "slurm_runner", lambda *_: said):
        shown, document = run("status", "--usage"), run.json("status", "--usage")
        assert run.json("status")["usages"] is None
    row = re.split(" {2,}", shown.out.partition("from sstat:\n")[2].splitlines()[1])
    assert (row[:2], row[3:]) == (["worker", "2"], ["1.0 GiB", "2.0 GiB of 4.0 GiB", "40 %", "-"])
    assert row[2].endswith(" of 4")
    (used,) = document["usages"]
    assert (used["role"], used["max_memory_mib"], used["requested_memory_mib"]) == ("worker", 2048, 4096)
    assert [argv[0] for argv in said.asked] == ["sstat", "sstat"]


@pytest.mark.parametrize(("text", "why"), [("", "Slurm gathers none"), ("missing", "is not on PATH")])
def test_status_says_why_the_usage_is_unknown(run: Runner, running_folder: JobFolder, text: str, why: str) -> None:
    (running_folder.path / "plan.json").write_text('{"roles": [{"name": "worker"}]}', encoding="utf-8")
    with patch.object(Session, "slurm_runner", lambda *_: Said(text)):
        shown = run("status", "--usage")
    assert (shown.code, "from sstat" in shown.out) == (0, False)
    assert re.search(f"the usage of .*{why}", shown.err, re.DOTALL)
