"""Jobs on the real Slurm, from the job file to the outcome that status, result.json and sacct agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import role, submit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster


@pytest.mark.exclusive
def test_one_failure_of_64_tasks_ends_the_job_and_the_others_get_term(installed: Cluster, workdir: Path) -> None:
    # A task of `a` fails when all others have begun; every other one traps TERM and says so.
    all_begun = f'until begun=({workdir}/begun.*) && [ "${{#begun[@]}}" -eq 63 ]; do sleep 0.2; done'
    command = (
        f'name=$PAI_CURRENT_TASK_ROLE_NAME-$PAI_TASK_INDEX; if [ "$name" = a-7 ]; then {all_begun}; exit 9; fi; '
        f"trap 'echo saved; exit 0' TERM; touch {workdir}/begun.$name; echo 'exit 0 0 0 0 0 0 success'; sleep 60"
    )
    roles = role("a", 32, command) + role("b", 16, command) + role("c", 16, command)
    job = submit(installed, workdir, roles, "{slurm: {layout: shared}}")
    code, result = job.ended()
    assert (code, result["trigger"]["role"], result["trigger"]["index"]) == (1, "a", 7)
    failed = next(task for task in result["tasks"] if task["state"] == "FAILED")
    assert result["ended_at"] - failed["ended_at"] <= 3
    saved = [log for log in job.attempt.glob("logs/*/*.stdout.log") if "saved" in log.read_text()]
    assert len(saved) == 63
