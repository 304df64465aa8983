"""`paislurm exec`: from the login node into a task that runs, with and without a terminal."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import WHERE, Submitted, paislurm, role, submit
from tests.cluster.processes import wait_until
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.cluster import Cluster

WAITS = "export MINE=no; trap 'exit 0' TERM; sleep 600 & wait"


@pytest.fixture
def waiting(installed: Cluster, workdir: Path) -> Iterator[Callable[[str], Submitted]]:
    """Submit a job whose tasks wait, and cancel it at the end of the test."""
    jobs: list[Submitted] = []

    def submit_waiting(layout: str) -> Submitted:
        roles = role("master", 1, WAITS) + role("worker", 2, WAITS)
        job = submit(installed, workdir, roles, f"{{slurm: {{layout: {layout}}}}}", partition="watched")
        jobs.append(job)
        wait_until(lambda: all(task["state"] == "RUNNING" for task in tasks_of(job)), "all tasks to run")
        return job

    yield submit_waiting
    for job in jobs:
        paislurm(installed, workdir, "cancel", job.name)


def tasks_of(job: Submitted) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(paislurm(job.cluster, job.folder, "status", "--json", job.name).stdout)[
        "tasks"
    ]
    return found


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def test_a_shell_has_a_terminal(
    installed: Cluster, workdir: Path, terminals: list[Terminal], waiting: Callable[[str], Submitted]
) -> None:
    """With job control. Whatever else a command has is a case of the contract."""
    job = waiting("shared")
    argv = installed.command(["paislurm", "exec", job.name, "worker-1"], cwd=workdir, env={"TERM": "xterm"})
    terminal = Terminal(argv, rows=33, columns=301)
    terminals.append(terminal)
    terminal.expect("[$#] $")
    terminal.type("PS1='<rea''dy>'; set +o history\r")
    terminal.expect("<ready>")
    terminal.type(f"{WHERE}; tty; stty size; echo $TERM.\r")
    terminal.expect(rf"\r\n{job.places(tasks_of(job))['worker-1']}\r\n/dev/pts/\d+\r\n33 301\r\nxterm\.\r\n")
    # Job control, and ^C for what is in front alone.
    terminal.type("sleep 500\r")
    terminal.expect("sleep 500\r\n")
    wait_until(lambda: any(p == b"sleep\x00500\x00" for p in command_lines()), "sleep to run")
    terminal.type("\x03")
    terminal.expect("<ready>")
    terminal.type("echo status $?\r")
    terminal.expect("\r\nstatus 130\r\n")
    terminal.type("until [ \"$(stty size)\" = '44 122' ]; do sleep 0.1; done; echo si''zed\r")
    terminal.expect("zed\r\n")
    terminal.resize(44, 122)
    terminal.expect("sized\r\n")
    terminal.type("exit 9\r")
    assert terminal.ended() == 9
    assert terminal.settings() == terminal.before


def command_lines() -> Iterator[bytes]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield path.read_bytes()


def test_closing_the_terminal_kills_the_remote_command(
    installed: Cluster, workdir: Path, terminals: list[Terminal], waiting: Callable[[str], Submitted]
) -> None:
    job = waiting("shared")
    remote = "trap : TERM HUP; echo $$ >pid; while :; do sleep 1; done"
    argv = installed.command(["paislurm", "ssh", job.name, "worker-0", "--", "bash", "-c", remote], cwd=workdir)
    terminal = Terminal(argv, rows=24, columns=80)
    terminals.append(terminal)
    pid_file = job.work("1-worker/0") / "pid"
    wait_until(lambda: pid_file.exists() and bool(pid_file.read_text()), "the remote command to run")
    process = Path("/proc", pid_file.read_text().strip())
    terminal.hang_up()
    wait_until(lambda: not process.exists(), "its end")
    assert {task["state"] for task in tasks_of(job)} == {"RUNNING"}
