"""The whole program as a user runs it, on this machine, without Slurm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.children import child
from tests.cluster.processes import wait_until

from ..running import JOB, job_file

PROGRAM = (sys.executable, "-m", "paislurm.translator.cli.main")


def paislurm(*argv: str) -> subprocess.CompletedProcess[str]:
    """Run the program."""
    return subprocess.run([*PROGRAM, *argv], capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """End all jobs when a test has ended."""
    yield
    for line in document_of("list", "--all")["jobs"]:
        if not line["ended"]:
            paislurm("cancel", line["name"])


def test_a_job_runs_from_submission_to_success(tmp_path: Path) -> None:
    done = paislurm("submit", job_file(tmp_path), "--backend", "local", "--follow")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "worker-0 | and bye",
        "worker-0 | hello from 0",
        "worker-1 | and bye",
        "worker-1 | hello from 1",
    ]
    assert "SUCCEEDED" in done.stderr
    assert "2 of 2" in paislurm("list").stdout
    document = document_of("status", "demo")
    assert (document["state"], [task["exit_code"] for task in document["tasks"]]) == ("SUCCEEDED", [0, 0])


def test_the_script_ignores_variables_of_the_submitting_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have names of its own settings and state; commands, and what is called in a task, see them as they were."""
    lowercase = dict.fromkeys(("role", "each", "index", "word", "script", "process"), "mine")
    uppercase = {"FABRIC": "ib", "BEFORE": "x", "RANK": "7", "NODES": "4", "OUT": "it's"}
    for name, value in {**uppercase, **lowercase}.items():
        monkeypatch.setenv(name, value)
    say = "echo $FABRIC $BEFORE $RANK $NODES $OUT $role $each $index $word $script $process"
    # Who has called waits for the other one, which would find nobody.
    wait = "touch called; until [ -e ../$((1 - PAI_TASK_INDEX))/called ]; do sleep 0.02; done"
    call = f"{say}; ssh -n worker-$((1 - PAI_TASK_INDEX)) '{say}'; {wait}"
    done = paislurm("submit", job_file(tmp_path, JOB.replace("echo and bye", call)), "--backend", "local", "--follow")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count("worker-0 | ib x 7 4 it's" + " mine" * len(lowercase)) == 2


def node_folder() -> Path:
    """Return the folder that the tasks of the only job had on this machine."""
    (placement,) = Path(os.environ["PAISLURM_HOME"]).glob("jobs/*/attempts/0/placement.sh")
    (line,) = (line for line in placement.read_text().splitlines() if line.startswith("PSL_NODE_FOLDER="))
    return Path(line.partition("=")[2])


def submitted_and_ended(job: str) -> None:
    """Submit a job and look at its folder until it has ended: who waits for it by a command has the folder tidied."""
    done = paislurm("submit", job, "--backend", "local")
    assert done.returncode == 0, done.stderr
    home = Path(os.environ["PAISLURM_HOME"])
    wait_until(lambda: bool([*home.glob("jobs/*/attempts/0/result.json")]), "the result")


def test_a_failing_job_leaves_no_files_in_tmp(tmp_path: Path) -> None:
    """It has ports and pipes for its tasks already when it finds that there is no code."""
    text = JOB + "extras: {slurm: {v1: {codeDir: /nowhere/code}}}\n"
    submitted_and_ended(job_file(tmp_path, text))
    # The result is there before the script has tidied up.
    folder = node_folder()
    wait_until(lambda: not folder.exists(), "the folder of the job in /tmp is still there")
    done = paislurm("wait", "demo")
    assert done.returncode == 1
    assert "codeDir /nowhere/code is not there" in done.stderr


@pytest.mark.slow("a whole job, or two")
def test_the_shell_of_a_task_is_killed_while_a_peer_runs(tmp_path: Path) -> None:
    """The field after the state in /proc/PID/stat is the parent's number; the command's shell is a grandchild."""
    kill = "read -r _ _ _ shell _ </proc/$PPID/stat; kill -KILL $shell"
    job = job_file(tmp_path, JOB.replace("echo and bye", f"test $PAI_TASK_INDEX = 0 || {{ {kill}; }}; sleep 60"))
    submitted_and_ended(job)
    # The result is there before the script has tidied up.
    folder = node_folder()
    wait_until(lambda: not folder.exists(), "the folder of the job in /tmp is still there")
    shown = document_of("status", "demo")
    assert (shown["exit_code"], [task["state"] for task in shown["tasks"]]) == (255, ["STOPPED", "FAILED"])
    assert "worker-1 failed with status 137" in shown["reason"]


@pytest.mark.slow("a whole job, or two")
def test_a_background_monitor_submits_retries(tmp_path: Path) -> None:
    """Nobody asks, and the job comes to its end; the monitor ends with it."""
    job = job_file(tmp_path, JOB.replace("echo and bye", "exit 3") + "jobRetryCount: 1\n")
    assert paislurm("submit", job, "--backend", "local").returncode == 0
    home = Path(os.environ["PAISLURM_HOME"])
    log = home / "monitor" / "monitor.log"
    deadline = time.monotonic() + 60
    while "FAILED attempt 1" not in (log.read_text() if log.exists() else "") and time.monotonic() < deadline:
        time.sleep(0.2)
    document = document_of("status", "demo")
    assert (document["state"], document["attempt"], document["retries"]) == ("FAILED", 1, 1)
    assert [attempt["retry_rule"] for attempt in document["attempts"]] == ["retry 1 of 1"]
    logs = (home / "jobs").glob("*/attempts/*/logs/0-worker/0.stdout.log")
    assert [path.read_text() for path in logs] == ["hello from 0\n"] * 2
    followed = paislurm("logs", "--attempt", "0", "demo", "worker-0")
    assert followed.stdout == "hello from 0\n"


@pytest.mark.slow("a whole job, or two")
def test_follow_continues_with_the_next_attempt(tmp_path: Path) -> None:
    text = JOB.replace("instances: 2", "instances: 1").replace("echo and bye", 'test "$FC_FRAMEWORK_ATTEMPT_ID" = 1')
    done = paislurm("submit", job_file(tmp_path, text + "jobRetryCount: 1\n"), "--backend", "local", "--follow")
    assert (done.returncode, done.stdout) == (0, "hello from 0\n" * 2)
    assert "attempt 1 of" in done.stderr


def test_without_a_monitor_each_attempt_submits_the_next_one(tmp_path: Path) -> None:
    """No command is called from the submit to the end."""
    (tmp_path / "site.yaml").write_text("partitions: {local: {}}\ndefaultPartition: local\nmonitor: none\n")
    job = job_file(tmp_path, JOB.replace("echo and bye", "exit 3") + "jobRetryCount: 1\n")
    done = paislurm("submit", job, "--backend", "local", "--site", str(tmp_path / "site.yaml"))
    assert done.returncode == 0, done.stderr
    assert "no monitor runs" in done.stderr
    (journal,) = (tmp_path / "home/jobs").glob("*/journal.jsonl")
    wait_until(lambda: '"kind": "ended"' in journal.read_text(), "the end of the last attempt", 60)
    kinds = [json.loads(line)["kind"] for line in journal.read_text().splitlines()]
    assert kinds == ["created", "intent", "submitted", "retry", "intent", "submitted", "ended"]
    log = (journal.parent / "attempts/0/slurm.log").read_text()
    assert "attempt 1 has been submitted" in log


def test_ctrl_c_does_not_stop_the_job_and_cancel_does(tmp_path: Path) -> None:
    job = job_file(tmp_path, JOB.replace("echo and bye", "sleep 60"))
    # Whoever runs the tests in the background has SIGINT ignored, and children would inherit that.
    argv = ["env", "--default-signal=INT", *PROGRAM, "submit", job, "--backend", "local", "--follow"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with child(argv, text=True, start_new_session=True, **pipes) as follower:
        assert "hello from" in follower.stdout.readline()
        os.killpg(follower.pid, signal.SIGINT)
        _, said = follower.communicate(timeout=30)
    assert follower.returncode == 130
    assert "continues" in said
    assert "Traceback" not in said
    assert document_of("status", "demo")["state"] == "RUNNING"
    assert paislurm("cancel", "demo").returncode == 0
    waited = paislurm("wait", "demo", "--json")
    assert (waited.returncode, json.loads(waited.stdout)["state"]) == (1, "STOPPED")
