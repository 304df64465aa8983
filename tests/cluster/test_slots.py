"""Jobs without gang allocation: tasks take turns in few slots, and failed ones are tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.jobs import folder_of_alice, role, submit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster

NO_GANG = "{gangAllocation: false}"
RETRIES = "retry: {maxTransientRetries: 3}\nmonitor: {background: false, maxPollInterval: 2}\n"


def test_many_tasks_take_turns_and_failed_ones_are_tried_again(installed: Cluster, workdir: Path) -> None:
    many = submit(
        installed,
        folder_of_alice(workdir / "many"),
        role("t", 50, 'echo "$PAI_TASK_INDEX"; echo "$PAI_CONTAINER_SSH_PORT"'),
        "{gangAllocation: false, slurm: {slots: 16}}",
    )

    def tried(name: str, count: int, retries: int, command: str) -> str:
        return role(name, count, command, failed=-1, more=f"    taskRetryCount: {retries}\n")

    roles = (
        tried("spent", 1, 1, "exit 8")
        + tried("third", 2, 2, 'echo "attempt $FC_TASK_ATTEMPT_ID"; exit "$((FC_TASK_ATTEMPT_ID < 2 ? 7 : 0))"')
        + tried("endless", 1, -1, 'exit "$((FC_TASK_ATTEMPT_ID < 4 ? 9 : 0))"')
        + tried("transient", 1, 0, 'exit "$((FC_TASK_ATTEMPT_ID < 2 ? 130 : 0))"')
        + tried("permanent", 1, 5, "exit 141")
        + tried("again", 1, -2, "true")
        + tried("broken", 1, -2, "exit 141")
    )
    retried = submit(installed, folder_of_alice(workdir / "retried"), roles, NO_GANG, RETRIES)

    code, result = retried.ended()
    found = {f"{task['role']}-{task['index']}": task for task in result["tasks"]}
    assert {name: (task["state"], task["task_attempt"], task["exit_status"]) for name, task in found.items()} == {
        "spent-0": ("FAILED", 1, 8),
        "third-0": ("SUCCEEDED", 2, 0),
        "third-1": ("SUCCEEDED", 2, 0),
        "endless-0": ("SUCCEEDED", 4, 0),
        "transient-0": ("SUCCEEDED", 2, 0),
        "permanent-0": ("FAILED", 0, 141),
        "again-0": ("SUCCEEDED", 3, 0),
        "broken-0": ("FAILED", 0, 141),
    }
    assert (code, result["trigger"]) == (0, None)
    logs = [retried.log("1-third/1", f"stdout{suffix}.log") for suffix in ("", ".1", ".2")]
    assert logs == ["attempt 0\n", "attempt 1\n", "attempt 2\n"]

    code, result = many.ended()
    assert (code, len(result["tasks"]), {task["state"] for task in result["tasks"]}) == (0, 50, {"SUCCEEDED"})
    printed = [many.log(f"0-t/{index}").split() for index in range(50)]
    assert [int(index) for index, _ in printed] == list(range(50))
    assert all(15000 <= int(port) <= 32000 for _, port in printed)


def test_task_with_exhausted_retries_fails_the_job(installed: Cluster, workdir: Path) -> None:
    roles = role("w", 2, 'exit "$((PAI_TASK_INDEX == 1 ? 8 : 0))"', more="    taskRetryCount: 2\n")
    # TERM reaches the commands in a slot, too.
    server = "trap 'echo saved; exit 0' TERM; while :; do sleep 60 & wait; done"
    job = submit(installed, workdir, roles + role("ps", 1, server), NO_GANG)
    code, result = job.ended()
    assert (code, result["outcome"], result["exit_code"]) == (1, "failed", 255)
    assert result["trigger"] == {"completion_rule": "C2", "role": "w", "index": 1, "count": 1, "threshold": 1}
    assert [(task["state"], task["task_attempt"]) for task in result["tasks"]] == [
        ("SUCCEEDED", 0),
        ("FAILED", 2),
        ("STOPPED", 0),
    ]
    assert (job.log("1-ps/0"), result["tasks"][2]["exit_status"]) == ("saved\n", 0)
