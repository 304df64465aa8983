"""The whole program as a user runs it, on this machine, without Slurm."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.children import child
from tests.cluster.processes import wait_until

from ..running import JOB, PROGRAM, document_of, job_file, paislurm


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """End all jobs when a test has ended."""
    yield
    for line in document_of("list", "--all")["jobs"]:
        if not line["ended"]:
            paislurm("cancel", line["name"])


def test_a_job_runs_from_submission_to_success(tmp_path: Path) -> None:
    done = paislurm("submit", job_file(tmp_path), "--backend", "local", "--follow")
    assert (done.returncode, "SUCCEEDED" in done.stderr) == (0, True), done.stderr
    printed = [f"worker-{index} | {text}" for index in range(2) for text in ("and bye", f"hello from {index}")]
    assert sorted(done.stdout.splitlines()) == printed
    assert "2 of 2" in paislurm("list").stdout
    shown = document_of("status", "demo")
    assert (shown["state"], [task["exit_code"] for task in shown["tasks"]]) == ("SUCCEEDED", [0, 0])


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


def end_without_files(job: str) -> None:
    """Submit a job whose folder in /tmp goes by itself: who waits for the job by a command has it tidied."""
    assert paislurm("submit", job, "--backend", "local").returncode == 0
    attempts = functools.partial(Path(os.environ["PAISLURM_HOME"]).glob, "jobs/*/attempts/0")
    wait_until(lambda: any((attempt / "result.json").exists() for attempt in attempts()), "the result")
    (attempt,) = attempts()
    (folder,) = re.findall(r"(?m)^PSL_NODE_FOLDER=(.*)$", (attempt / "placement.sh").read_text())
    wait_until(lambda: not Path(folder).exists(), "the folder of the job in /tmp to go")


def test_a_failing_job_leaves_no_files_in_tmp(tmp_path: Path) -> None:
    """It has ports and pipes for its tasks already when it finds that there is no code."""
    end_without_files(job_file(tmp_path, JOB + "extras: {slurm: {v1: {codeDir: /nowhere/code}}}\n"))
    done = paislurm("wait", "demo")
    assert (done.returncode, "codeDir /nowhere/code is not there" in done.stderr) == (1, True), done.stderr


@pytest.mark.slow("a whole job, or two")
def test_the_shell_of_a_task_is_killed_while_a_peer_runs(tmp_path: Path) -> None:
    """The field after the state in /proc/PID/stat is the parent's number; the command's shell is a grandchild."""
    kill = "read -r _ _ _ shell _ </proc/$PPID/stat; kill -KILL $shell"
    text = JOB.replace("echo and bye", f"test $PAI_TASK_INDEX = 0 || {{ {kill}; }}; sleep 60")
    end_without_files(job_file(tmp_path, text))
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
    wait_until(lambda: log.exists() and "FAILED attempt 2" in log.read_text(), "the end of the retry", 60)
    shown = document_of("status", "demo")
    assert (shown["state"], shown["attempt"], shown["retries"]) == ("FAILED", 1, 1)
    assert [attempt["retry_rule"] for attempt in shown["attempts"]] == ["retry 1 of 1"]
    logs = (home / "jobs").glob("*/attempts/*/logs/0-worker/0.stdout.log")
    assert [path.read_text() for path in logs] == ["hello from 0\n"] * 2
    assert paislurm("logs", "--attempt", "1", "demo", "worker-0").stdout == "hello from 0\n"


@pytest.mark.slow("a whole job, or two")
def test_follow_continues_with_the_next_attempt(tmp_path: Path) -> None:
    text = JOB.replace("instances: 2", "instances: 1").replace("echo and bye", 'test "$FC_FRAMEWORK_ATTEMPT_ID" = 1')
    done = paislurm("submit", job_file(tmp_path, text + "jobRetryCount: 1\n"), "--backend", "local", "--follow")
    assert (done.returncode, done.stdout) == (0, "hello from 0\n" * 2)
    assert "attempt 2 of" in done.stderr


def test_without_a_monitor_each_attempt_submits_the_next_one(tmp_path: Path) -> None:
    """No command is called from the submit to the end."""
    (tmp_path / "site.yaml").write_text("partitions: {local: {}}\ndefaultPartition: local\nmonitor: none\n")
    job = job_file(tmp_path, JOB.replace("echo and bye", "exit 3") + "jobRetryCount: 1\n")
    done = paislurm("submit", job, "--backend", "local", "--site", str(tmp_path / "site.yaml"))
    assert (done.returncode, "no monitor runs" in done.stderr) == (0, True), done.stderr
    (journal,) = (tmp_path / "home/jobs").glob("*/journal.jsonl")
    wait_until(lambda: '"kind": "ended"' in journal.read_text(), "the end of the last attempt", 60)
    kinds = [json.loads(line)["kind"] for line in journal.read_text().splitlines()]
    assert kinds == ["created", "intent", "submitted", "retry", "intent", "submitted", "ended"]
    assert "attempt 2 has been submitted" in (journal.parent / "attempts/0/slurm.log").read_text()


def test_ctrl_c_does_not_stop_the_job_and_cancel_does(tmp_path: Path) -> None:
    job = job_file(tmp_path, JOB.replace("echo and bye", "sleep 60"))
    # Whoever runs the tests in the background has SIGINT ignored, and children would inherit that.
    argv = ["env", "--default-signal=INT", *PROGRAM, "submit", job, "--backend", "local", "--follow"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with child(argv, text=True, start_new_session=True, **pipes) as follower:
        assert "hello from" in follower.stdout.readline()
        os.killpg(follower.pid, signal.SIGINT)
        _, said = follower.communicate(timeout=30)
    assert (follower.returncode, "continues" in said, "Traceback" in said) == (130, True, False)
    assert document_of("status", "demo")["state"] == "RUNNING"
    assert paislurm("cancel", "demo").returncode == 0
    waited = paislurm("wait", "demo", "--json")
    assert (waited.returncode, json.loads(waited.stdout)["state"]) == (1, "STOPPED")
