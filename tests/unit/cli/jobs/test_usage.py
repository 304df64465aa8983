"""What sstat and tasks say that a job uses: which step is whose, and when the tasks are asked instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from paislurm.backends.runner import Completed, missing
from paislurm.translator.app.session import Session
from paislurm.translator.app.usage.in_tasks import usages_in_tasks
from paislurm.translator.app.usage.of_steps import usages_of_steps
from paislurm.translator.app.usage.running import RunningRole
from paislurm.translator.errors import BackendError
from paislurm.translator.monitor.task_status import TaskView

from ...monitor.jobs import NOW

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from paislurm.translator.state.job_folder import JobFolder

LINES = "7.batch|1|00:00:00|9|9|\n7.3|2|00:00:30|10485760|20971520|\n8.0|1|00:00:10|1048576|1048576|gres/gpuutil=40\n"


class Said:
    """Answers every program with the same text, and remembers what was asked."""

    def __init__(self, text: str, status: int = 0) -> None:
        self.text, self.status = text, status
        self.asked: list[list[str]] = []

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        self.asked.append(list(argv))
        if self.text == "missing":
            raise missing(argv)
        return Completed(status=self.status, stdout=self.text, stderr="srun: error: no\n" if self.status else "")


def running(
    name: str, position: int, count: int, step: int, component: int | None, node: str = "n1", ago: int = 60
) -> RunningRole:
    tasks = [
        TaskView(role=name, index=index, task_attempt=0, state="RUNNING", node=node, started_at=NOW - ago)
        for index in range(count)
    ]
    return RunningRole(
        position=position, name=name, folder=f"{position}-{name}", instances=count, component=component, step=step,
        tasks=tasks, slots={index: index + 5 for index in range(count)},
    )  # fmt: skip


WORKER, PS = running("worker", 0, 2, 3, 0), running("ps", 1, 1, 0, 1, "n2", ago=10)


def test_sstat_queries_each_component_separately() -> None:
    said = Said(LINES)
    found = usages_of_steps(said, 7, [WORKER, PS], NOW)
    assert found is not None
    worker, ps = found
    assert "--jobs=7,8" in said.asked[0]
    assert (len(said.asked), worker.index, worker.running_tasks, worker.node) == (1, None, 2, "n1")
    assert (worker.cpu_time, worker.cpus_busy, worker.used_memory_mib, worker.max_memory_mib) == (30, 0.5, 10, 20)
    assert (ps.index, ps.cpus_busy, ps.gpu_percent, ps.gpu_memory_mib) == (0, 1.0, 40, None)


def test_ranks_are_summed_up_per_task() -> None:
    found = usages_of_steps(Said(LINES), 7, [running("worker", 0, 1, 3, None)], NOW)
    assert found is not None
    assert (found[0].cpu_time, found[0].used_memory_mib, found[0].max_memory_mib) == (60, 20, 20)


@pytest.mark.parametrize("text", ["", "missing", "7.3|2|00:00:30|0|0|\n", LINES.replace("8.0", "9.0")])
def test_without_sstat_data_no_usage_is_returned(text: str) -> None:
    assert usages_of_steps(Said(text), 7, [WORKER, PS], NOW) is None


def test_roles_in_one_step_have_no_separate_usage() -> None:
    said = Said(LINES)
    assert usages_of_steps(said, 7, [replace(WORKER, component=None), replace(PS, component=None, step=3)], NOW) is None
    assert said.asked == []


def test_usage_of_responding_tasks_is_returned(
    folder: JobFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "0.5 usage 3 250 150 100 2048\n0.5 gpu 0 80 1000\n0.5 gpu 1 20 24\n"
        "0.6 gpu 0 nan 1\n0.9 usage 1 1 1 1 1\n0.6 usage 1 2 x 1 1\n1.5 usage 1 0 0 0 4096\nnonsense\n\n"
    )
    said = Said(text)
    monkeypatch.setattr(Session, "slurm_runner", lambda *_: said)
    worker, ps = usages_in_tasks(Session(), folder.history(), tmp_path, [WORKER, PS])
    assert "--het-group=0,1" in said.asked[0]
    assert said.asked[0][-3:] == ["n1:0.5", "n1:0.6", "n2:1.5"]
    assert (worker.index, worker.node, worker.cpu_time, worker.cpus_busy, worker.used_memory_mib) == (
        0,
        "n1",
        2,
        1.5,
        2,
    )
    assert (worker.gpu_percent, worker.gpu_memory_mib) == (50, 1024)
    assert (ps.role, ps.cpus_busy, ps.used_memory_mib, ps.gpu_percent) == ("ps", None, 4, None)


@pytest.mark.parametrize(("status", "words"), [(0, "no task answers"), (1, "no")])
def test_an_error_is_raised_if_no_task_responds(
    folder: JobFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, words: str
) -> None:
    monkeypatch.setattr(Session, "slurm_runner", lambda *_: Said("", status))
    with pytest.raises(BackendError, match=words):
        usages_in_tasks(Session(), folder.history(), tmp_path, [WORKER])
