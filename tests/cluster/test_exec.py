"""`paislurm exec`: from the login node into a task that runs, with and without a terminal."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import WHERE, Submitted, paislurm, role, submit
from tests.cluster.processes import wait_until
from tests.cluster.test_faults import status
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.cluster import Cluster

WAITS = "export MINE=no; trap 'exit 0' TERM; sleep 600 & wait"


@pytest.fixture
def waiting(installed: Cluster, workdir: Path) -> Iterator[Submitted]:
    """A job whose tasks wait, and which is cancelled at the end of the test."""
    roles = role("master", 1, WAITS) + role("worker", 2, WAITS)
    job = submit(installed, workdir, roles, "{slurm: {layout: shared}}", partition="watched")
    wait_until(lambda: all(task["state"] == "RUNNING" for task in status(job)["tasks"]), "all tasks to run")
    yield job
    paislurm(installed, workdir, "cancel", job.name)


def test_a_shell_has_a_terminal(waiting: Submitted) -> None:
    """With job control. Whatever else a command has is a case of the contract."""
    words = ["paislurm", "exec", waiting.name, "worker-1"]
    argv = waiting.cluster.command(words, cwd=waiting.folder, env={"TERM": "xterm"})
    with closing(Terminal(argv, rows=33, columns=301)) as terminal:
        terminal.expect("[$#] $")
        terminal.type("PS1='<rea''dy>'; set +o history\r")
        terminal.expect("<ready>")
        terminal.type(f"{WHERE}; tty; stty size; echo $TERM.\r")
        place = waiting.places(status(waiting)["tasks"])["worker-1"]
        terminal.expect(rf"\r\n{place}\r\n/dev/pts/\d+\r\n33 301\r\nxterm\.\r\n")
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


def test_closing_the_terminal_kills_the_remote_command(waiting: Submitted) -> None:
    remote = "trap : TERM HUP; echo $$ >pid; while :; do sleep 1; done"
    words = ["paislurm", "ssh", waiting.name, "worker-0", "--", "bash", "-c", remote]
    with closing(Terminal(waiting.cluster.command(words, cwd=waiting.folder), rows=24, columns=80)) as terminal:
        pid_file = waiting.work("1-worker/0") / "pid"
        wait_until(lambda: pid_file.exists() and bool(pid_file.read_text()), "the remote command to run")
        process = Path("/proc", pid_file.read_text().strip())
        terminal.hang_up()
        wait_until(lambda: not process.exists(), "its end")
    assert {task["state"] for task in status(waiting)["tasks"]} == {"RUNNING"}
