"""What goes wrong while a job runs, each time for real, and what is said of it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.children import child
from tests.cluster.instance import require_privilege
from tests.cluster.jobs import BOTH, folder_of_alice, paislurm, role, states, submit
from tests.cluster.processes import wait_until
from tests.cluster.watched import ALONE, watched

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.cluster import Cluster
    from tests.cluster.jobs import Submitted

SAVES = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 300 & wait; done"


def status(job: Submitted) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(paislurm(job.cluster, job.folder, "status", "--json", "--", job.name).stdout)
    return shown


def wait_ready(job: Submitted, *tasks: str) -> None:
    """Wait until these tasks have printed their first line."""
    logs = [job.attempt / "logs" / f"{task}.stdout.log" for task in tasks]
    wait_until(lambda: all(log.exists() and log.read_text() for log in logs), f"{job.name} to start", 180)


@contextmanager
def cut_off(cluster: Cluster, node: str) -> Iterator[None]:
    """Take a node's network away, and bring it back when its loss has been seen."""
    cluster.cut(node)
    try:
        yield
    finally:
        cluster.restore(node)


@BOTH
def test_out_of_memory_task_is_a_permanent_failure(installed: Cluster, workdir: Path, layout: str) -> None:
    """Slurm's kill is a permanent failure, whether it hits the command or a child of it."""
    require_privilege("limits of memory")
    eater = "tail -c 900M /dev/zero | tail"
    more = role("child", 1, f"bash -c '{eater}'; echo survived") + role("peer", 1, SAVES)
    job = submit(installed, workdir, more, f"{{slurm: {{layout: {layout}}}}}")
    code, result = job.ended()
    assert (code, result["outcome"], result["exit_code"], result["behaviour"]) == (1, "failed", -1200, "permanent")
    assert (result["trigger"]["role"], states(result)) == ("child", ["child-0 FAILED", "peer-0 STOPPED"])
    shown = status(job)
    assert "memory" in shown["reason"]
    failure = shown["failure"]
    assert (failure["task"], failure["what"]) == ("child-0", "out of memory, exit status 137")
    assert (failure["cascade"], failure["stopped"]) == ([], ["peer-0"])
    assert any("the kernel killed processes of this task, out of memory" in line for line in failure["evidence"])


@pytest.mark.disruptive
def test_lost_node_ends_the_job_despite_its_completion_policy(installed: Cluster, workdir: Path) -> None:
    """With or without the batch node; in both layouts; thresholds do not count, though one of them is about to."""
    two = role("a", 1, SAVES, failed=-1) + role("b", 1, SAVES, failed=-1)
    wide = role("w", 2, SAVES, failed=2).replace("cpu: 1", "cpu: 9") + role("v", 1, "echo ready", failed=-1)
    wanted = {
        "peer": (two, "{slurm: {layout: het, nodelist: n7, taskRoles: {b: {nodelist: n8}}}}"),
        "batch": (two, "{slurm: {layout: het, nodelist: n8, taskRoles: {b: {nodelist: n7}}}}"),
        "shared": (wide, "{slurm: {layout: shared, nodelist: 'n[7-8]'}}"),
    }
    jobs = {
        kind: submit(installed, folder_of_alice(workdir / kind), *job, partition="fragile")
        for kind, job in wanted.items()
    }
    for kind, job in jobs.items():
        wait_ready(job, *(("0-w/0", "0-w/1", "1-v/0") if kind == "shared" else ("0-a/0", "1-b/0")))
    ids = {kind: status(job)["job_id"] for kind, job in jobs.items()}
    with cut_off(installed, "n8"):
        for kind, job in jobs.items():
            waited = paislurm(installed, job.folder, "wait", "--json", "--", job.name)
            shown = status(job)
            assert (shown["state"], shown["exit_code"]) == ("FAILED", -1001), waited.stderr
            assert "node" in shown["reason"]
            assert waited.returncode == 1
            result = {} if kind == "batch" else json.loads((job.attempt / "result.json").read_text())
            # Slurm's TERM may overtake srun's word; then the accounts say it alone.
            if result.get("outcome", "interrupted") != "interrupted":
                assert (result["outcome"], result["exit_code"], result["behaviour"]) == ("failed", -1001, "transient")
                assert "node n8 was lost" in result["reason"]
                assert [task["node"] for task in result["tasks"] if task["state"] == "FAILED"] == ["n8"]
                failure = shown["failure"]
                assert (failure["node"], failure["what"]) == ("n8", "its node was lost"), failure
        found = {kind: {row["State"] for row in installed.sacct(number)} for kind, number in ids.items()}
        assert "NODE_FAIL" in found["batch"] | found["peer"], found


def test_killed_task_shell_fails_or_retries_the_task(installed: Cluster, workdir: Path) -> None:
    """Nobody reports that task's end but srun. Without gang, another slot runs it again if its own is gone, too."""
    above = "up() { ps -o ppid= -p $1 | tr -d ' '; }; shell=$(up $PPID); slot=$(up $shell)"
    jobs = {}
    for kind, killed in (("gang", "$shell"), ("shell", "$shell"), ("slot", "$slot $shell")):
        folder = folder_of_alice(workdir / kind)
        once = f"{above}; ! mkdir {folder}/once 2>/dev/null || kill -KILL {killed}"
        if kind == "gang":
            roles = role("w", 2, f"{above}; [ $PAI_TASK_INDEX = 0 ] || kill -KILL {killed}; {SAVES}")
            jobs[kind] = submit(installed, folder, roles)
        else:
            roles = role("w", 3, once, more="    taskRetryCount: 1\n")
            jobs[kind] = submit(installed, folder, roles, "{gangAllocation: false, slurm: {slots: 2}}")
    for kind, job in jobs.items():
        code, result = job.ended()
        tasks = [(task["state"], task["task_attempt"]) for task in result["tasks"]]
        if kind == "gang":
            assert (code, result["outcome"], result["exit_code"]) == (1, "failed", 255)
            assert (tasks, job.log("0-w/0")) == ([("STOPPED", 0), ("FAILED", 0)], "ready\nsaved\n")
            assert result["tasks"][1]["exit_status"] == 137
        else:
            assert (code, result["outcome"]) == (0, "succeeded")
            assert sorted(tasks) == [("SUCCEEDED", 0), ("SUCCEEDED", 0), ("SUCCEEDED", 1)], kind


def test_user_output_that_imitates_reports_changes_nothing(installed: Cluster, workdir: Path) -> None:
    lie = "exit 0 0 0 0 7 255 unknown 1"
    # Nothing that the commands have open leads to the batch script.
    command = f"""for fd in /proc/self/fd/*; do [ -f "$fd" ] || echo "{lie}" >"$fd" || true; done 2>/dev/null
        echo "{lie}"; echo "step 0 1"; echo "{lie}" >&2; printf 'free 0 0\\nquit\\n'"""
    job = submit(installed, workdir, role("w", 2, command) + role("v", 1, "sleep 3"))
    code, result = job.ended()
    assert (code, result["outcome"], states(result)) == (
        0,
        "succeeded",
        ["w-0 SUCCEEDED", "w-1 SUCCEEDED", "v-0 SUCCEEDED"],
    )


def test_supervisor_accesses_no_shared_file_while_tasks_run(installed: Cluster, workdir: Path) -> None:
    """While tasks run and report, the batch script and what it starts keep away from the job's folder."""
    require_privilege("a trace of the batch script")
    seen = workdir / "seen"
    until = f"echo ready; until [ -e {seen} ]; do sleep 0.5; done"
    roles = role("w", 20, f'{until}; sleep "$((PAI_TASK_INDEX / 5))"') + role("v", 1, f"{until}; sleep 5")
    job = submit(installed, workdir, roles, "{slurm: {layout: shared}}")
    wait_ready(job, "1-v/0", *(f"0-w/{index}" for index in range(20)))
    node = installed.admin(["squeue", "--noheader", "--format=%B", f"--jobs={status(job)['job_id']}"]).strip()
    script = batch_script(installed, node, job)
    trace = workdir / "trace"
    # The script itself hears signals; its only child does the work.
    worker = installed.run(["ps", "-o", "pid=", "--ppid", str(script)], user="root", host=node).stdout.strip()
    strace = ["strace", "-f", "-e", "trace=file,read", "-o", str(trace), "-p", worker]
    argv = installed.command(strace, user="root", host=node)
    with child(argv, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stderr is not None
        assert "attached" in watching.stderr.readline()
        seen.touch()
        code, _ = job.ended()
        watching.send_signal(signal.SIGINT)
    lines = trace.read_text().splitlines()
    before = lines[: next(k for k, line in enumerate(lines) if "result.json" in line)]
    assert sum('read(0, "\\n", 1)' in line for line in before) >= 21, "not all ends of tasks were seen"
    # The script works in the attempt's folder, so that what is relative is shared.
    opening = [line for line in before if " read(" not in line and "read resumed>" not in line]
    paths = {path for line in opening for path in re.findall(r'"([^"]+)"', line)}
    assert {path for path in paths if not path.startswith(("/etc/", "/tmp/", "/proc/"))} == set()
    assert code == 0


def batch_script(cluster: Cluster, node: str, job: Submitted) -> int:
    """Return the process id of the batch script on its node."""
    number = status(job)["job_id"]
    listed = cluster.run(["scontrol", "listpids", number], user="root", host=node).stdout
    pids = [int(words[0]) for line in listed.splitlines() if (words := line.split())[2:3] == ["batch"]]
    table = ["ps", "-o", "pid=,ppid=,args=", "-p", ",".join(map(str, pids))]
    rows = [row.split(None, 2) for row in cluster.run(table, user="root", host=node).stdout.splitlines()]
    parents = {pid: parent for pid, parent, args in rows if re.match(r"(/bin/)?bash (-p )?\S*slurm_script ", args)}
    # What it starts in the background has its name until it becomes something else.
    (script,) = (pid for pid, parent in parents.items() if parent not in parents)
    return int(script)


def test_short_time_limit_ends_the_job_without_a_warning(installed: Cluster, workdir: Path) -> None:
    """Slurm's own TERM is the first that the tasks hear, and only Slurm knows why."""
    late = submit(installed, workdir, role("w", 1, SAVES), "{slurm: {time: 1, nodelist: n7}}", partition="fragile")
    code, result = late.ended()
    assert (code, result["outcome"]) == (1, "interrupted")
    assert late.log("0-w/0") == "ready\nsaved\n"
    shown = status(late)
    assert (shown["state"], shown["exit_code"]) == ("FAILED", -1004)
    assert "time limit" in shown["reason"]
    assert late.cluster.sacct(status(late)["job_id"])[0]["State"] == "TIMEOUT"


@pytest.mark.exclusive
@pytest.mark.parametrize("comment", ["", "paislurm-2"], ids=["another job", "another job of paislurm"])
def test_job_whose_number_slurm_gives_to_another_job(installed: Cluster, workdir: Path, comment: str) -> None:
    """A controller that dies forgets a job that waits. The next job of the user has its number, and is not touched."""
    admin, other = installed.admin, ["sbatch", "--parsable", f"--comment={comment}", "--wrap=sleep 300"]
    drain = ["scontrol", "update", "nodename=ALL", "state=drain", "reason=test"]
    admin(drain)
    try:
        for number in range(9):
            job = watched(installed, workdir / str(number), "true", site=ALONE)
            job_id = job.status()["job_id"]
            installed.stop_daemon("slurmctld", crash=True)
            installed.start_daemon("slurmctld")
            # It saves its state every 5 s, and may have done so just before; also that of nodes.
            admin(drain)
            if not installed.squeue(job_id):
                break
            job.run("cancel", job.name)
        # It may have forgotten more than this job.
        assert job_id in (installed.run(other, check=True).stdout.strip() for _ in range(9))

        def is_submitted_again() -> bool:
            job.run("monitor", "--once")
            return job.journal()[-1]["kind"] == "submitted" and len(job.journal()) > 4

        wait_until(is_submitted_again, f"{job.name} to be submitted again", 180)
        assert f"job {job_id} is another one" in str(job.journal())
        assert job.run("cancel", job.name).returncode == 0
        assert [row["State"] for row in installed.squeue(job_id)] == ["PENDING"]
    finally:
        installed.cancel_all()
        admin(["scontrol", "update", "nodename=ALL", "state=resume"], check=False)
