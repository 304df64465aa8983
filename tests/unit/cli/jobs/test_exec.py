"""`paislurm exec` on this machine, without Slurm."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cluster.processes import wait_until
from tests.terminal import Terminal

from ..running import JOB, job_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = (sys.executable, "-m", "paislurm.translator.cli.main")
TWO_ROLES = JOB.replace("instances: 2", "instances: 1").replace("echo and bye", "sleep 600") + JOB[
    JOB.index("  worker:") :
].replace("worker:", "other:").replace("echo and bye", "sleep 600")


def paislurm(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *argv], input=stdin, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[None]:
    """Run a job of two roles."""
    assert paislurm("submit", job_file(tmp_path, TWO_ROLES), "--backend", "local").returncode == 0
    wait_until(lambda: states() == {"RUNNING"}, "all tasks to run")
    yield
    paislurm("cancel", "demo")


def states() -> set[str]:
    return {task["state"] for task in json.loads(paislurm("status", "demo", "--json").stdout)["tasks"]}


@pytest.mark.usefixtures("running")
def test_a_command_runs_in_the_task() -> None:
    done = paislurm(
        "exec", "demo", "other-1", "--", "sh", "-c", 'cat; echo "$PAI_TASK_ROLE_NAME" >&2; exit 4', stdin="x"
    )
    assert (done.returncode, done.stdout, done.stderr) == (4, "x", "other\n")
    done = paislurm("exec", "demo", "worker", "printf", "%s|", "a  b", "'", "--", "-h")
    assert (done.returncode, done.stdout) == (0, "a  b|'|--|-h|")
    done = paislurm("exec", "--json", "demo", "other-1", "--", "it's")
    argv = json.loads(done.stdout)["argv"]
    assert (argv[:2], argv[3], argv[5:]) == (["bash", "-p"], "--exec", ["0", "1", "1", "'it'\\''s'"])


def test_the_task_is_optional_for_a_job_of_one_task(tmp_path: Path) -> None:
    one = JOB.replace("instances: 2", "instances: 1").replace("echo and bye", "sleep 600")
    assert paislurm("submit", job_file(tmp_path, one), "--backend", "local").returncode == 0
    wait_until(lambda: states() == {"RUNNING"}, "the task to run")
    try:
        for words in (("--", "echo", "a  b"), ("worker", "echo", "a  b"), ("worker-0", "--", "echo", "a  b")):
            done = paislurm("exec", "demo", *words)
            assert (done.returncode, done.stdout) == (0, "a  b\n")
        done = paislurm("ssh", "demo", "--", "echo", "--", "x")
        assert (done.returncode, done.stdout) == (0, "-- x\n")
        done = paislurm("exec", "demo", stdin="echo from a shell\n")
        assert (done.returncode, done.stdout) == (0, "from a shell\n")
        document = json.loads(paislurm("exec", "--json", "demo").stdout)
        assert (document["task"], document["argv"][-1]) == ("worker-0", "")
        done = paislurm("exec", "demo", "echo", "x")
        assert (done.returncode, done.stdout) == (5, "")
        assert "it has worker; or omit it and write `--` before the command" in done.stderr
    finally:
        paislurm("cancel", "demo")


@pytest.mark.usefixtures("running")
def test_a_shell_has_a_terminal_and_restores_it() -> None:
    terminal = Terminal([*PROGRAM, "ssh", "demo", "other-0"], rows=30, columns=90)
    try:
        terminal.expect("[$#] $")
        terminal.type("stty size; exit 6\r")
        terminal.expect("\r\n30 90\r\n")
        assert terminal.ended() == 6
        assert terminal.settings() == terminal.before
    finally:
        terminal.close()
