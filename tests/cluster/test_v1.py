"""Jobs of protocol v1 on the cluster: killAllOnCompletedTaskNumber and isDebug."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.cluster.jobs import folder_of_alice, paislurm, profile_of_v1, submit_file
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster
    from tests.cluster.jobs import Submitted


def write(folder: Path, roles: dict[str, tuple[int, str]], **values: object) -> str:
    """Write a job file of protocol v1; a role is its number of tasks and its command. Return the file's name."""
    task = {"cpuNumber": 1, "memoryMB": 100, "gpuNumber": 0}
    found = [{"name": name, "taskNumber": count, **task, "command": text} for name, (count, text) in roles.items()]
    job = {"jobName": folder.name, "image": "debian", "taskRoles": found, **values}
    (folder / "job.json").write_text(json.dumps(job, indent=2))
    (folder / "site.yaml").write_text(profile_of_v1())
    return "job.json"


UNTIL_TERM = "trap 'echo saved; exit 0' TERM; touch trapped; while :; do sleep 600 & wait; done"


def test_kill_all_on_completed_task_number_ends_the_job(installed: Cluster, workdir: Path) -> None:
    """killAllOnCompletedTaskNumber: the second success ends all that runs; a failure before it fails the job."""
    ready = 'until [[ -e "$PAI_WORK_DIR/../../0-ps/1/trapped" ]]; do sleep 0.05; done'
    ends = f"if [[ $PAI_TASK_INDEX == 1 ]]; then {UNTIL_TERM}; fi; {ready}"
    jobs: dict[str, Submitted] = {}
    for layout in ("het", "shared"):
        for name, status in (("kill", 0), ("fail", 5)):
            folder = folder_of_alice(workdir / f"{name}-{layout}")
            roles = {"ps": (2, ends), "worker": (1, f"{ready}; exit {status}"), "other": (1, UNTIL_TERM)}
            if status:
                roles["ps"] = (2, UNTIL_TERM)
            extras = {"slurm": {"layout": layout}}
            file = write(folder, roles, killAllOnCompletedTaskNumber=2, extras=extras)
            jobs[f"{name}-{layout}"] = submit_file(installed, folder, file, home=folder / "home")
    for name, job in jobs.items():
        code, result = job.ended()
        found = {f"{task['role']}-{task['index']}": task["state"] for task in result["tasks"]}
        if name.startswith("kill"):
            assert (name, code, result["reason"].partition(" succeeded: ")[2]) == (
                name,
                0,
                "2 succeeded tasks of all roles complete the job",
            )
            ended = {"ps-0": "SUCCEEDED", "ps-1": "STOPPED", "worker-0": "SUCCEEDED", "other-0": "STOPPED"}
        else:
            assert (name, code, result["reason"]) == (
                name,
                1,
                "task worker-0 failed with status 5: 1 failed task of role worker ends the job",
            )
            ended = {"ps-0": "STOPPED", "ps-1": "STOPPED", "worker-0": "FAILED", "other-0": "STOPPED"}
        assert (name, found) == (name, ended)
        assert job.log("0-ps/1") == "saved\n"


def test_failed_task_of_a_debug_job_is_held(installed: Cluster, workdir: Path) -> None:
    command = 'touch mine; exit "$((PAI_TASK_INDEX * 3))"'
    folder = folder_of_alice(workdir / "debug")
    file = write(folder, {"w": (2, command)}, jobEnvs={"isDebug": True})
    job = submit_file(installed, folder, file, home=folder / "home")
    home = {"PAISLURM_HOME": str(job.home)}

    def shown() -> dict[str, Any]:
        done = paislurm(installed, folder, "status", "--json", job.name, env=home)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    wait_until(
        lambda: [task["hold_ends_at"] is not None for task in shown()["tasks"]] == [False, True], "w-1 to be held"
    )
    status = shown()
    assert (status["state"], status["backend_state"]) == ("RUNNING", "RUNNING")
    task = status["tasks"][1]
    held, began = (datetime.fromisoformat(task[key]) for key in ("hold_ends_at", "started_at"))
    assert (task["state"], task["exit_status"], (held - began).total_seconds() > 604700) == ("RUNNING", 3, True)
    text = paislurm(installed, folder, "status", job.name, env=home).stdout
    assert f"w-1 failed with status 3; it is held on {task['node']} until " in text
    # Its resources are still the job's, and its files are there to be looked at.
    (row,) = installed.squeue(status["job_id"])
    assert (row["State"], row["NodeList"]) == ("RUNNING", task["node"])
    assert (job.work("0-w/1") / "mine").exists()
    assert not (job.attempt / "result.json").exists()
    assert paislurm(installed, folder, "cancel", job.name, env=home).returncode == 0
    code, result = job.ended()
    assert (code, result["outcome"]) == (1, "interrupted")
    ended = shown()
    assert (ended["state"], ended["tasks"][1]["exit_status"], ended["tasks"][1]["hold_ends_at"]) == ("STOPPED", 3, None)
