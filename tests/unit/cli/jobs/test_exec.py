"""`paislurm exec` on this machine, without Slurm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.processes import wait_until
from tests.terminal import Terminal

from ..running import JOB, PROGRAM, document_of, job_file, paislurm

ONE = JOB.replace("instances: 2", "instances: 1").replace("echo and bye", "sleep 600")
TWO_ROLES = ONE + JOB[JOB.index("  worker:") :].replace("worker:", "other:").replace("echo and bye", "sleep 600")


def ready() -> bool:
    return {task["state"] for task in document_of("status", "demo")["tasks"]} == {"RUNNING"}


@pytest.fixture(params=[TWO_ROLES])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Run a job; by default one of two roles."""
    assert paislurm("submit", job_file(tmp_path, request.param), "--backend", "local").returncode == 0
    wait_until(ready, "all tasks to run")
    yield
    paislurm("cancel", "demo")


@pytest.mark.usefixtures("running")
def test_a_command_runs_in_the_task() -> None:
    done = paislurm(
        "exec", "demo", "other-1", "--", "sh", "-c", 'cat; echo "$PAI_TASK_ROLE_NAME" >&2; exit 4', stdin="x"
    )
    assert (done.returncode, done.stdout, done.stderr) == (4, "x", "other\n")
    done = paislurm("exec", "demo", "worker", "printf", "%s|", "a  b", "'", "--", "-h")
    assert (done.returncode, done.stdout) == (0, "a  b|'|--|-h|")
    argv = document_of("exec", "demo", "other-1", "--", "it's")["argv"]
    assert (argv[:2], argv[3], argv[5:]) == (["bash", "-p"], "--exec", ["0", "1", "1", "'it'\\''s'"])


@pytest.mark.parametrize("running", [ONE], indirect=True, ids=["one"])
@pytest.mark.usefixtures("running")
def test_the_task_is_optional_for_a_job_of_one_task() -> None:
    for words in (("--", "echo", "a  b"), ("worker", "echo", "a  b"), ("worker-0", "--", "echo", "a  b")):
        done = paislurm("exec", "demo", *words)
        assert (done.returncode, done.stdout) == (0, "a  b\n")
    done = paislurm("ssh", "demo", "--", "echo", "--", "x")
    assert (done.returncode, done.stdout) == (0, "-- x\n")
    done = paislurm("exec", "demo", stdin="echo from a shell\n")
    assert (done.returncode, done.stdout) == (0, "from a shell\n")
    call = document_of("exec", "demo")
    assert (call["task"], call["argv"][-1]) == ("worker-0", "")
    done = paislurm("exec", "demo", "echo", "x")
    assert (done.returncode, done.stdout) == (5, "")
    assert "it has worker; or omit it and write `--` before the command" in done.stderr


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
