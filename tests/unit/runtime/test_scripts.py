"""Scripts of prerequisites and plugins that fail: what a task makes of it, and what the batch script does."""

from __future__ import annotations

import pytest

from .bash import run

ENDS = """
run_and_take_exports() { return "$given"; }
run_bash() { return "$given"; }
record_script() { :; }
PSL_STDERR_LOG=/dev/null PSL_ROLE=0 PSL_ROLE_FOLDER=(0-w) given=$1
run_hook 0 "$2"
printf '%s,%s,%s' "$?" "$PSL_CODE_OF_SCRIPT" "$PSL_FAILED_SCRIPT"
"""
TAKEN = """
PSL_GANG=1 PSL_EXITS=() PSL_STATE[0.1]=running PSL_ATTEMPTS[0.1]=1 PSL_ROLE_NAME=(w) PSL_MIN_FAILED=(1)
PSL_CODE_OF[0.1]=255 PSL_BEHAVIOUR_OF[0.1]=unknown PSL_STATUS[0.1]=3
decide() { printf '%s' "$4"; }
dispatch_event $1
complete_by_C2 0 1
"""


@pytest.mark.parametrize(
    ("status", "word", "ends"),
    [
        (10, "start.0.plugin.ssh.fail", "10,249 permanent,start plugin ssh"),
        (10, "start.0.plugin.ssh.ignore", "0,,"),
        (10, "start.0.prerequisite.ssh.fail", "10,,start prerequisite ssh"),
        (10, "start.0.plugin.cmd.fail", "10,,start plugin cmd"),
        (11, "start.0.plugin.ssh.fail", "11,,start plugin ssh"),
        (0, "start.0.plugin.ssh.fail", "0,,"),
        (4, "success.1.prerequisite.a_b-C.fail", "4,,success prerequisite a_b-C"),
        (10, "exit.1.prerequisite.ssh.fail", "0,,"),
    ],
)
def test_script_failures_have_exit_codes(status: int, word: str, ends: str) -> None:
    assert run(ENDS, str(status), word) == ends


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("failed 0 1 1 1 start prerequisite a-b", " in the prerequisite a-b, before its commands"),
        ("failed 0 1 1 1 success plugin cmd", " in the plugin cmd, after its commands succeeded"),
        # Of an attempt before, of another task, or none of ours.
        ("failed 0 1 1 0 start prerequisite a", ""),
        ("failed 0 1 0 1 start prerequisite a", ""),
        ("failed 0 1 x 1 start prerequisite a", ""),
        ("failed 0 1 1 1 start prerequisite $(id)", ""),
        ("failed 0 1 1 1 start prerequisite", ""),
        ("failed 0 1 1 1 start PLUGIN a", ""),
    ],
)
def test_a_failed_script_is_reported(line: str, where: str) -> None:
    assert run(TAKEN, line) == f"task w-1 failed with status 3{where}: 1 failed task of role w ends the job"


SHOWN = """
PSL_STATE[0.1]=$1 PSL_ATTEMPTS[0.1]=2 PSL_STATUS[0.1]=$2 PSL_CODE_OF[0.1]=$2 PSL_BEHAVIOUR_OF[0.1]=$3
PSL_GOT_TERM[0.1.2]=$4
print_task_result 0 1 w
"""


@pytest.mark.parametrize(
    ("state", "status", "behaviour", "term", "shown"),
    [
        ("failed", 3, "unknown", "", "FAILED"),
        ("succeeded", 0, "success", "", "SUCCEEDED"),
        # It ended when the job was decided already.
        ("ended", 3, "unknown", "", "FAILED"),
        ("ended", 0, "success", "", "SUCCEEDED"),
        ("ended", 139, "unknown", "", "FAILED"),
        # It was told to, or died of what it was told by.
        ("ended", 3, "unknown", "1", "STOPPED"),
        ("ended", 0, "success", "1", "STOPPED"),
        ("ended", 143, "transient", "", "STOPPED"),
        ("ended", 137, "transient", "", "STOPPED"),
        ("running", 3, "unknown", "", "STOPPED"),
        ("waiting", 3, "unknown", "", "STOPPED"),
    ],
)
def test_a_task_was_stopped_unless_it_ended_by_itself(
    state: str, status: int, behaviour: str, term: str, shown: str
) -> None:
    words = run(SHOWN, state, str(status), behaviour, term)
    assert f'"state": "{shown}", "exit_status": {status}, ' in words
    assert f'"exit_code": {-220 if shown == "STOPPED" else status}, ' in words
    # A settled result stands.
    settled = "SUCCEEDED" if (state, status) == ("ended", 0) else shown
    assert f'"state": "{settled}", ' in run(f"PSL_SETTLED[0.1]=1\n{SHOWN}", state, str(status), behaviour, term)
