"""The preflight on real nodes: a bad node is named, the next attempt excludes it, and jobs on good nodes start."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cluster.jobs import role

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

RETRIES = "retry: {maxTransientRetries: 3}\nmonitor: {background: false, maxPollInterval: 2}\n"
FIRST_IS_BAD = "mkdir bad && { echo $SLURMD_NODENAME >bad/node; echo link is down; exit 3; } 2>/dev/null; true"
"""Fail on the first node of all attempts."""
BY_SRUN = """
  [[ $PAISLURM_PAIR_RANK == 0 ]] || exit 0
  found=$(srun --overlap --mpi=none --nodes=2 --ntasks=2 --nodelist="$PAISLURM_PAIR_NODES" \\
    bash -c 'echo $SLURMD_NODENAME')
  [[ $(sort <<<"$found" | paste -sd,) == $(tr , '\\n' <<<"$PAISLURM_PAIR_NODES" | sort | paste -sd,) ]] || exit 1
  echo 12.5
"""


def extras(command: str = "", pairs: str = "") -> str:
    texts = {
        "check": ["disk", "clock"],
        **({"command": command} if command else {}),
        **({"pairs": pairs} if pairs else {}),
    }
    return json.dumps({"slurm": {"tasksPerNode": 1, "preflight": texts}})


def test_bad_node_is_named_and_excluded(site: Site, folder: Path) -> None:
    """A command fails on one of three nodes; in the next attempt, pairs run a step of their own on both nodes."""
    job = site.submit(folder, role("w", 3, "echo ran on $SLURMD_NODENAME"), extras(FIRST_IS_BAD, BY_SRUN), RETRIES)
    code, last = job.ended(attempt=1)
    first = json.loads((job.attempt() / "result.json").read_text())
    bad = (job.folder / "bad/node").read_text().strip()
    assert (code, last["outcome"]) == (0, "succeeded"), last["reason"]
    assert (first["exit_code"], first["behaviour"]) == (-1407, "transient")
    assert f"node {bad}: the preflight command ended with status 3: link is down" in first["reason"]
    assert [task["node"] for task in first["tasks"] if task["state"] == "FAILED"] == [bad]
    assert not [task for task in first["tasks"] if task["started_at"]]
    assert bad not in {task["node"] for task in last["tasks"]}
    answers = (job.attempt(1) / "srun/preflight.log").read_text()
    assert answers.count(" tried 0 12.5 ") == 3
