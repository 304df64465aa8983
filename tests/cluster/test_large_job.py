"""A job of 2,000 tasks on a real Slurm: they take turns in 64 slots, and know each other.

It takes minutes on two processors: `make chaos` runs it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import folder_of_alice, role, submit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster

TASKS, OTHER = 2000, 700
READ = f"""if ((PAI_TASK_INDEX >= {TASKS - 100})); then
          echo "$(env | grep -c ^PAI_HOST_IP_t_) $(env | grep -c "^PAI_HOST_IP_t_$PAI_TASK_INDEX=") $PAI_HOST_IP_t_0"
          echo "$PAI_TASK_ROLE_t_HOST_LIST"
          paislurm-peer t {OTHER} | grep ^PAI_HOST_IP_t_{OTHER}=
        fi"""


@pytest.mark.chaos("takes minutes")
@pytest.mark.timeout(1200)
def test_two_thousand_tasks_can_query_each_others_addresses(installed: Cluster, workdir: Path) -> None:
    extras = "{gangAllocation: false, slurm: {slots: 64}}"
    job = submit(installed, folder_of_alice(workdir / "many"), role("t", TASKS, READ), extras)
    code, result = job.ended(timeout=900)
    failed = [task for task in result["tasks"] if task["state"] != "SUCCEEDED"]
    assert (code, failed, len(result["tasks"])) == (0, [], TASKS)
    for index in range(TASKS - 100, TASKS):
        inherited, hosts, asked = job.log(f"0-t/{index}").splitlines()
        assert re.fullmatch(r"1 1 [0-9.]+", inherited)
        assert asked.startswith(f"PAI_HOST_IP_t_{OTHER}=")
        assert hosts.count(",") >= TASKS - 200
