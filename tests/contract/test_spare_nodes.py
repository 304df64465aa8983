"""A job with a spare node goes on after the loss of a node, in the same Slurm job.

A slurmd is killed, and what it had started lives on: each task writes into a ledger while it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import ONE_ATTEMPT, role
from tests.cluster.processes import wait_until
from tests.contract.test_cost import GRANULARITY, cost_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Job, Site

LINE = "$1 $PAI_CURRENT_TASK_ROLE_NAME-$PAI_TASK_INDEX $FC_TASK_ATTEMPT_ID $FC_FRAMEWORK_ATTEMPT_ID $SLURMD_NODENAME"
RETRIED = "retry: {maxTransientRetries: 1}\nmonitor: {background: false, maxPollInterval: 2}\n"
Line = tuple[str, str, int, int, str]
"""Word, task, start, attempt and node."""


def ticking(folder: Path) -> str:
    """Return commands that write to the ledger until the file `stop` is there."""
    command = f"say() {{ echo {LINE} >>{folder}/ledger; }}; [ $(umask) = 0022 ] && say start; "
    command += "trap 'say saved; exit 0' TERM; "
    return command + f"while [ ! -e {folder}/stop ]; do say beat; sleep 0.2 & wait $! || true; done; say done"


def submit(site: Site, folder: Path, roles: dict[str, int], settings: str = ONE_ATTEMPT) -> Job:
    """Submit a job whose tasks run until the file `stop` is there."""
    text = "".join(role(name, count, ticking(folder)) for name, count in roles.items())
    settings += f"slurmVersion: {site.slurm}\n"
    extras = f'{{slurm: {{spare: 1, tasksPerNode: 1, resumes: {{file: "{folder}/checkpoint"}}}}}}'
    return site.submit(folder, text, extras, settings, partition="spared")


def ledger(folder: Path) -> list[Line]:
    file = folder / "ledger"
    rows = [line.split() for line in (file.read_text() if file.exists() else "").splitlines()]
    return [(row[0], row[1], int(row[2]), int(row[3]), row[4]) for row in rows if len(row) == 5]


def begun(folder: Path, start: int, attempt: int = 0) -> dict[str, str]:
    """Return the nodes of the tasks that have begun in a start of an attempt."""
    return {row[1]: row[4] for row in ledger(folder) if (row[0], row[2], row[3]) == ("start", start, attempt)}


def await_start(folder: Path, tasks: int, start: int, attempt: int = 0) -> dict[str, str]:
    wait_until(lambda: len(begun(folder, start, attempt)) == tasks, f"start {start} of attempt {attempt}", 240)
    return begun(folder, start, attempt)


def overlaps(folder: Path) -> list[Line]:
    """Return the lines that a task wrote after a later start of it."""
    latest: dict[str, tuple[int, int]] = {}
    late = []
    for row in ledger(folder):
        now = (row[3], row[2])
        if now < latest.setdefault(row[1], now):
            late.append(row)
        latest[row[1]] = max(now, latest[row[1]])
    return late


@pytest.mark.disruptive
@pytest.mark.parametrize("roles", [{"w": 2}, {"w": 2, "v": 1}], ids=["one-role", "two-roles"])
def test_all_tasks_start_anew_in_the_same_job(site: Site, folder: Path, roles: dict[str, int]) -> None:
    cluster, count = site.administrator, sum(roles.values())
    job = submit(site, folder, roles)
    first = await_start(folder, count, 0)
    number, lost, checkpoint = job.number, first["w-1"], folder / "checkpoint"
    checkpoint.touch()
    cluster.stop_daemon(f"slurmd-{lost}", crash=True)
    try:
        second = await_start(folder, count, 1)
        (folder / "stop").touch()
        code, result = job.ended(loud=True)
    finally:
        cluster.restore(lost)
    assert (code, result["outcome"], result["job_id"]) == (0, "succeeded", number)
    assert [(each["lost_node"], each["spare_node"]) for each in result["restarts"]] == [(lost, second["w-1"])]
    assert {task: node for task, node in second.items() if first[task] != lost}.items() <= first.items()
    assert overlaps(folder) == []
    # The tasks on the other nodes could save.
    assert {row[1] for row in ledger(folder) if row[0] == "saved"} >= {task for task in first if first[task] != lost}
    shown = job.status()
    assert (shown["state"], shown["attempts"], shown["job_id"]) == ("SUCCEEDED", [], number)
    assert {task["task_attempt"] for task in result["tasks"]} == {1}
    assert f"after the loss of {lost}" in shown["reason"]
    # Slurm takes the lost node from the job before the script notices the loss.
    saved, nodes = int(checkpoint.stat().st_mtime), len(set(first.values()))
    assert [each["checkpoint_at"] for each in result["restarts"]] == [saved]
    lost_for = result["restarts"][0]["at"] - saved
    cost, seconds = cost_of(job)
    assert {part["lost_to"] for part in cost["parts"]} == {None, "its node was lost"}
    assert (nodes - 1) * (lost_for - GRANULARITY) <= seconds["lost"] <= nodes * (lost_for + GRANULARITY)


@pytest.mark.disruptive
def test_a_loss_without_a_spare_node_left_is_retried(site: Site, folder: Path) -> None:
    cluster = site.administrator
    job = submit(site, folder, {"w": 2}, RETRIED)
    lost = [await_start(folder, 2, 0)["w-1"]]
    try:
        cluster.stop_daemon(f"slurmd-{lost[0]}", crash=True)
        lost.append(await_start(folder, 2, 1)["w-1"])
        cluster.stop_daemon(f"slurmd-{lost[1]}", crash=True)
        wait_until((job.attempt() / "result.json").exists, "the end of attempt 0", 240)
    finally:
        for node in lost:
            cluster.restore(node)
    (folder / "stop").touch()
    code, result = job.ended(attempt=1, loud=True)
    assert (code, result["outcome"]) == (0, "succeeded")
    assert [attempt["exit_code"] for attempt in job.status()["attempts"]] == [-1001]
    assert overlaps(folder) == []


@pytest.mark.disruptive
def test_the_loss_of_the_batch_node_is_retried(site: Site, folder: Path) -> None:
    """Slurm itself would leave such a job to its tasks."""
    cluster = site.administrator
    job = submit(site, folder, {"w": 2}, RETRIED)
    lost, number = await_start(folder, 2, 0)["w-0"], job.number
    cluster.cut(lost)
    try:
        wait_until((job.attempt() / "result.json").exists, "the end of attempt 0", 240)
        wait_until(lambda: not cluster.squeue(number), "the end of the Slurm job", 240)
    finally:
        cluster.restore(lost)
    (folder / "stop").touch()
    code, result = job.ended(attempt=1, loud=True)
    assert (code, result["outcome"]) == (0, "succeeded")
    assert [attempt["exit_code"] for attempt in job.status()["attempts"]] == [-1001]
