"""Several jobs at once, of which a node takes one: cancelled by one call, listed with what Slurm says of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cluster.jobs import role
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

LONG = "exec sleep 600"
START_SECONDS = 120
"""The scheduler looks ahead every half minute."""


def test_several_jobs_are_listed_and_cancelled(site: Site, folder: Path) -> None:
    wide = role("w", 1, LONG).replace("cpu: 1,", "cpu: 9,")
    first = site.submit(folder, wide, "{slurm: {time: 10}}", partition="small")
    for suffix in ("-2", "-3"):
        assert first.paislurm("submit", "--suffix", suffix, "job.yaml").returncode == 0

    def jobs() -> list[dict[str, object]]:
        listed: list[dict[str, object]] = json.loads(first.paislurm("list", f"{first.name}*", "--json").stdout)["jobs"]
        return sorted(listed, key=lambda job: str(job["name"]))

    def are_as_wanted() -> bool:
        """Jobs of other tests may have the node for a while."""
        runs, *wait = jobs()
        return runs["state"] == "RUNNING" and any(job["expected_start_at"] for job in wait)

    wait_until(are_as_wanted, "a job that runs, and an expected start", START_SECONDS)
    found = jobs()
    assert [job["partition"] for job in found] == ["small"] * 3
    assert found[0]["expected_start_at"] is None
    assert found[0]["node_list"]
    done = first.paislurm("cancel", f"{first.name}*")
    assert (done.returncode, done.stdout.count("is being cancelled (job ")) == (0, 3)
    call_log = json.loads(first.paislurm("monitor", "--calls", "--json").stdout)["programs"]
    # One for each name: scancel spares a job of another name that has got the number since.
    assert [row["calls"] for row in call_log if row["program"] == "scancel"] == [3]
    ended = first.paislurm("wait", f"{first.name}*", "--json")
    assert ended.returncode == 1
    assert [job["state"] for job in json.loads(ended.stdout)["jobs"]] == ["STOPPED"] * 3
