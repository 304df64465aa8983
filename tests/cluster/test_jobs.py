"""Jobs on the real Slurm, from the job file to the outcome that status, result.json and sacct agree on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import BOTH, paislurm, role, run_job, states, write
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster


@BOTH
def test_workers_decide_and_the_server_is_stopped(installed: Cluster, workdir: Path, layout: str) -> None:
    roles = role("ps", 1, "sleep infinity") + role("worker", 2, "true", succeeded=2)
    code, result = run_job(installed, workdir, roles, f"{{slurm: {{layout: {layout}}}}}")
    assert (code, result["outcome"], result["trigger"]["completion_rule"]) == (0, "succeeded", "C3")
    assert states(result) == ["ps-0 STOPPED", "worker-0 SUCCEEDED", "worker-1 SUCCEEDED"]

    def accounted() -> set[str]:
        return {row["State"] for row in installed.sacct(result["job_id"]) if "." not in row["JobID"]}

    # The accounting is late.
    wait_until(lambda: accounted() == {"COMPLETED"}, "the accounting to call all components COMPLETED")


@pytest.mark.parametrize(("failed", "outcome"), [(3, "succeeded"), (2, "failed")])
def test_a_role_tolerates_as_many_failures_as_it_says(
    installed: Cluster, workdir: Path, failed: int, outcome: str
) -> None:
    command = 'exit "$((PAI_TASK_INDEX % 2 * 3))"'
    code, result = run_job(installed, workdir, role("sweep", 4, command, failed=failed))
    assert (code, result["outcome"]) == (int(outcome == "failed"), outcome)
    assert [task["exit_status"] for task in result["tasks"] if task["state"] == "FAILED"] == [3, 3]


@pytest.mark.exclusive
def test_one_failure_of_64_tasks_ends_the_job_and_the_others_get_term(installed: Cluster, workdir: Path) -> None:
    # A task of `a` fails in its second second; every other one traps TERM and says so.
    command = (
        'if [ "$PAI_CURRENT_TASK_ROLE_NAME-$PAI_TASK_INDEX" = a-7 ]; then sleep 2; exit 9; fi; '
        "trap 'echo saved; exit 0' TERM; echo 'exit 0 0 0 0 0 0 success'; sleep 60"
    )
    roles = role("a", 32, command) + role("b", 16, command) + role("c", 16, command)
    code, result = run_job(installed, workdir, roles, "{slurm: {layout: shared}}")
    assert (code, result["trigger"]["role"], result["trigger"]["index"]) == (1, "a", 7)
    failed = next(task for task in result["tasks"] if task["state"] == "FAILED")
    assert result["ended_at"] - failed["ended_at"] <= 3
    logs = installed.home("alice") / ".paislurm" / "jobs" / f"alice~{result['job']}" / "attempts" / "0" / "logs"
    saved = [log for log in logs.glob("*/*.stdout.log") if "saved" in log.read_text()]
    assert len(saved) == 63


def test_without_gang_tasks_take_turns_and_are_retried(installed: Cluster, workdir: Path) -> None:
    command = '[ "$FC_TASK_ATTEMPT_ID" = 1 ] || [ "$PAI_TASK_INDEX" != 3 ]'
    roles = role("many", 9, command, more="    taskRetryCount: 1\n")
    code, result = run_job(installed, workdir, roles, "{gangAllocation: false, slurm: {slots: 2}}")
    assert (code, {task["state"] for task in result["tasks"]}) == (0, {"SUCCEEDED"})
    assert [task["task_attempt"] for task in result["tasks"]] == [0, 0, 0, 1, 0, 0, 0, 0, 0]


@BOTH
def test_a_cancelled_job_lets_its_tasks_clean_up(installed: Cluster, workdir: Path, layout: str) -> None:
    command = "trap 'echo saved; exit 0' TERM; echo ready; sleep 60"
    name = write(workdir, role("a", 1, command) + role("b", 1, command), f"{{slurm: {{layout: {layout}}}}}")
    assert paislurm(installed, workdir, "submit", "--site", "site.yaml", "job.yaml").returncode == 0
    logs = installed.home("alice") / ".paislurm" / "jobs" / f"alice~{name}" / "attempts" / "0" / "logs"

    def output() -> list[str]:
        return [log.read_text() for log in sorted(logs.glob("*/0.stdout.log"))]

    deadline = time.monotonic() + 60
    while output() != ["ready\n", "ready\n"] and time.monotonic() < deadline:
        time.sleep(0.1)
    paislurm(installed, workdir, "cancel", name)
    ended = paislurm(installed, workdir, "wait", name)
    assert ended.returncode == 1
    assert "STOPPED" in paislurm(installed, workdir, "status", name).stdout
    assert output() == ["ready\nsaved\n", "ready\nsaved\n"]


def test_a_job_that_can_never_start_says_so_before_the_queue(installed: Cluster, workdir: Path) -> None:
    write(workdir, role("a", 65, "true"))
    done = paislurm(installed, workdir, "submit", "--site", "site.yaml", "job.yaml")
    assert done.returncode == 4
    assert "role a can never start" in done.stderr
