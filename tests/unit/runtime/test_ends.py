"""Ends of attempts, and secrets in the allocation."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from paislurm.translator.protocol.expressions.secrets import TAG
from paislurm.translator.rendering.head import _setting

from ..written_files import write_files
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


PRINT = """
PSL_SECRETS_FOLDER=$1/secrets
insert_secrets "$1/script"
printf -v TEXT %s "${PSL_PIECES[@]}"
eval "$TEXT"
printf "%s;%s" "$REPOSITORY" "${RAN-}"
"""
PIECES = st.lists(
    st.sampled_from(
        ["x", "'", '"', "\\", "$(RAN=1)", "`RAN=1`", "\n", "END_OF_VALUE", "RAN=1", TAG, " %>", "quoted", " ", "é"]
    )
).map("".join)


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(before=PIECES, secret=PIECES, after=PIECES)
@example(before="https://", secret="x'\nEND_OF_VALUE\nRAN=1\n", after="@host")
def test_a_secret_is_inserted_as_data(
    tmp_path_factory: pytest.TempPathFactory, before: str, secret: str, after: str
) -> None:
    # As the compiler leaves a job's own text that looks like a reference.
    shown = [text.replace(TAG, f"{TAG} %>") for text in (before, after)]
    script = _setting("REPOSITORY", f"{shown[0]}{TAG}token %>{shown[1]}")
    folder = tmp_path_factory.mktemp("case")
    write_files(folder, {"secrets/token": secret, "script": script})
    assert run(PRINT, str(folder)) == f"{before}{secret}{after};"
