"""The cost of jobs against Slurm's own accounting."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.cluster.jobs import BOTH, role
from tests.cluster.processes import wait_until
from tests.contract.site import LONGEST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Job, Site

QUICK = "retry: {maxTransientRetries: 2}\nmonitor: {background: false, maxPollInterval: 2}\n"
FIRST = '[ "$FC_FRAMEWORK_ATTEMPT_ID" = 0 ]'
GRANULARITY = 2
"""Seconds: sacct and the tasks have whole seconds, each by its own clock."""


def accounted(job: Job) -> list[tuple[int, int, int]]:
    """Return elapsed seconds, nodes and GPUs of each component of each attempt, when sacct has their ends.

    A restart in the job divides a component.
    """
    records = map(json.loads, (job.path / "journal.jsonl").read_text().splitlines())
    ids = ",".join(record["job_id"] for record in records if record["kind"] == "submitted")
    argv = ("sacct", "-XPnD", f"--jobs={ids}", "--format=State,ElapsedRaw,AllocNodes,AllocTRES")
    rows: list[list[str]] = []

    def has_ends() -> bool:
        rows[:] = [line.split("|") for line in job.site.run(*argv).stdout.splitlines()]
        return bool(rows) and not any(row[0] in ("RUNNING", "PENDING", "COMPLETING") for row in rows)

    wait_until(has_ends, f"the accounts of {job.name}", LONGEST)
    gpus = [dict(pair.split("=") for pair in row[3].split(",") if pair).get("gres/gpu", "0") for row in rows]
    return [(int(row[1]), int(row[2]), int(count)) for row, count in zip(rows, gpus, strict=True)]


def cost_of(job: Job) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the cost of an ended job, compared with sacct, and its node seconds by use."""
    rows = accounted(job)
    cost = json.loads(job.paislurm("status", "--json", "--cost", "--", job.name).stdout)["cost"]
    for key, count in (("node_seconds", 1), ("gpu_seconds", 2)):
        accounts = sum(row[0] * row[count] for row in rows)
        assert abs(cost[key] - accounts) <= accounts / 100
        assert sum(part[key] for part in cost["parts"]) == cost[key]
    assert cost["attempts_not_in_sacct"] == 0
    seconds: dict[str, int] = {}
    for part in cost["parts"]:
        seconds[part["use"]] = seconds.get(part["use"], 0) + part["node_seconds"]
    return cost, seconds


@BOTH
def test_a_failed_attempt_is_lost_after_its_checkpoint(site: Site, folder: Path, layout: str) -> None:
    saves = f"sleep 5; touch {folder}/saved.1; sleep 5; {FIRST} && exit 7; echo done"
    work = role("w", 2, saves).replace("gpu: 0", "gpu: 1")
    serve = role("ps", 1, "sleep 3; echo served")
    extras = f'{{slurm: {{layout: {layout}, resumes: {{file: "{folder}/saved.*"}}}}}}'
    job = site.submit(folder, work + serve, extras, settings=QUICK, retries=1)
    assert job.ended(attempt=1)[0] == 0
    first, second = (json.loads((job.attempt(number) / "result.json").read_text()) for number in (0, 1))
    assert first["resumed_from"] is None
    assert second["resumed_from"] == first["checkpoint_at"] < second["checkpoint_at"]
    cost, seconds = cost_of(job)
    (lost,) = (part for part in cost["parts"] if part["use"] == "lost")
    assert lost["lost_to"] == "exit status 7"
    nodes = {task["node"] for task in first["tasks"] if task["role"] == "w"}
    assert abs(lost["node_seconds"] - 5 * len(nodes)) <= GRANULARITY * len(nodes)
    assert abs(lost["gpu_seconds"] - 5 * 2) <= GRANULARITY * 2
    assert seconds["productive"] >= 13 * len(nodes)
    shown = job.paislurm("status", "--cost", "--", job.name).stdout
    assert "lost: exit status 7 " in shown
    assert "The allocated time is sacct's." in shown
    # Without accounts the sums are the job's own, and come near to those.
    bin_ = site.own(folder / "bin")
    site.write(bin_, "sacct", "#!/bin/sh\nexit 1\n").chmod(0o755)
    argv = ("sh", "-c", f'PATH={bin_}:$PATH exec paislurm status --json --cost -- "$0"', job.name)
    own = json.loads(site.run(*argv, cwd=job.folder, env=job.env).stdout)["cost"]
    assert own["attempts_not_in_sacct"] == own["allocated_attempts"] == 2
    slack = GRANULARITY * sum(each for _, each, _ in accounted(job))
    assert abs(own["node_seconds"] - cost["node_seconds"]) <= slack


def test_a_cancelled_job_is_lost(site: Site, folder: Path) -> None:
    """Slurm counts whole seconds."""
    job = site.submit(folder, role("w", 2, "sleep 2; echo ready; sleep 600"))
    job.wait_for("ready", "0-w/0", "0-w/1")
    assert job.paislurm("cancel", "--", job.name).returncode == 0
    job.over()
    cost, seconds = cost_of(job)
    assert {part["lost_to"] for part in cost["parts"]} - {None} == {"the task or the job was stopped"}
    assert "productive" not in seconds
