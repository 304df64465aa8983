"""The status of a command, whatever signals come while its task waits for it."""

from __future__ import annotations

import pytest

from .bash import run

ROUNDS = 30


def ends(command: str, monitor_runs: int, before: str = "") -> list[str]:
    """Run a command several times as a task does, and return what it ended with."""
    return run(f"{AS_A_TASK}\n{before}\n{TURNS}", command, str(monitor_runs)).split()


@pytest.mark.parametrize(("command", "status"), [("exit 0", "0"), ("exit 7", "7"), ("trap 'exit 3' TERM; exit", "0")])
def test_signals_do_not_hide_the_exit_status_of_a_command(command: str, status: str) -> None:
    """Bash itself loses it, when a child ends and a signal comes at once: here signals come every few milliseconds."""
    storm = "(while kill -TERM $$ 2>/dev/null; do sleep 0.001; done) &\nstorm=$!"
    assert ends(command, ROUNDS, before=storm) == [status] * ROUNDS


@pytest.mark.parametrize(
    ("command", "status"),
    [("kill -KILL 0", "137"), ("kill -KILL $$", "137"), ("kill -SEGV $$", "139"), ("kill 0", "143")],
)
def test_the_exit_status_of_a_killed_command_is_kept(command: str, status: str) -> None:
    """It may kill the shell that keeps its status, too."""
    assert ends(command, 3) == [status] * 3


AS_A_TASK = """
exec 2>/dev/null
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
