"""The status of a command, whatever signals come while its task waits for it."""

from __future__ import annotations

import subprocess

import pytest

from .bash import sourced

ROUNDS = 30


def run(command: str, monitor_runs: int, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command several times as a task does, and print what it ended with."""
    return subprocess.run(
        ["bash", "-c", f"{sourced()}\n{AS_A_TASK}\n{before}\n{TURNS}", "bash", command, str(monitor_runs)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


@pytest.mark.parametrize(("command", "status"), [("exit 0", "0"), ("exit 7", "7"), ("trap 'exit 3' TERM; exit", "0")])
def test_signals_do_not_hide_the_exit_status_of_a_command(command: str, status: str) -> None:
    """Bash itself loses it, when a child ends and a signal comes at once: here signals come every few milliseconds."""
    done = run(command, ROUNDS, before="(while kill -TERM $$ 2>/dev/null; do sleep 0.001; done) &\nstorm=$!")
    assert done.stdout.split() == [status] * ROUNDS


@pytest.mark.parametrize(
    ("command", "status"),
    [("kill -KILL 0", "137"), ("kill -KILL $$", "137"), ("kill -SEGV $$", "139"), ("kill 0", "143")],
)
def test_the_exit_status_of_a_killed_command_is_kept(command: str, status: str) -> None:
    """It may kill the shell that keeps its status, too."""
    assert run(command, 3).stdout.split() == [status] * 3


AS_A_TASK = """
set -u
storm=''
exec {PSL_REPORT_FD}>&1 {PSL_CONTROL_FD}<> <(:)
outlive_signals
pass_on_term() { :; }
"""
TURNS = """
for ((turn = 0; turn < $2; turn++)); do
  launch bash -c "$1"
  await_command
  printf '%s\\n' "$?"
done
[[ ! $storm ]] || kill -KILL "$storm"
"""
