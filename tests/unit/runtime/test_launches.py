"""Launches that fail: steps that end before a task of theirs has begun. They are never the failure of the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from .bash import run
from .test_losses import BOTH_START, FIRST_SUCCEEDS, lose

ARBITRARY = "srun: error: --nodes is incompatible with --distribution=arbitrary\n"
PROLOG = """srun: error: Task launch for StepId=2.0 failed on node n2: Job prolog failed
srun: error: Application launch failed: Job prolog failed
srun: Job step aborted: Waiting up to 7 seconds for job step to finish.
"""
REFUSED_BY_A_NODE = "srun: error: Task launch for StepId=9+1.0 failed on node n2: Invalid job credential\n"
ENDS = [
    (ARBITRARY, 1, "-1401 permanent"),
    ("srun: unrecognized option '--frobnicate'\nTry \"srun --help\" for more information\n", 255, "-1401 permanent"),
    ("srun: invalid option -- 'Y'\n", 255, "-1401 permanent"),
    ("srun: option '--gres' requires an argument\n", 255, "-1401 permanent"),
    ('srun: error: Invalid numeric value "x" for --ntasks.\n', 1, "-1401 permanent"),
    ("srun: error: Requested het-group offset exceeds highest hetjob index (5 > 0)\n", 1, "-1401 permanent"),
    ("srun: error: Invalid MPI type 'foo', --mpi=list for acceptable types\n", 1, "-1401 permanent"),
    ("srun: error: Invalid --distribution specification\n", 255, "-1401 permanent"),
    ("srun: error: Unable to create step for job 5: Invalid generic resource (gres) specification\n", 1, ""),
    ("srun: error: Unable to create step for job 5: Requested node configuration is not available\n", 1, ""),
    ("srun: error: Slurm job 4 has expired\n", 1, ""),
    ("srun: error: slurm_receive_msgs: Socket timed out on send/recv operation\n", 1, ""),
    ("srun: warning: can't honor --ntasks-per-node\n" + REFUSED_BY_A_NODE, 1, ""),
    ("", 137, ""),
    ("srun: warning: can't honor --ntasks-per-node\n", 137, ""),
    ("/spool/slurm_script: line 900: srun: command not found\n", 127, ""),
    ("/spool/slurm_script: line 900: /usr/bin/srun: Permission denied\n", 126, ""),
    (PROLOG, 1, "-1403 transient"),
]
"""What srun says and its status, most of it observed on Slurm 22.05, and what it means: by default -1402."""
CODE = """explain_launch "$1" "$2" && printf '%s\\n' "$PSL_LAUNCH_FAILURE" "$PSL_LAUNCH_NODE"
printf '%s\\n' "$PSL_LAUNCH_WORDS"
"""


@pytest.mark.parametrize(("log", "status", "means"), ENDS)
def test_launch_errors_of_srun_are_recognized(tmp_path: Path, log: str, status: int, means: str) -> None:
    (tmp_path / "log").write_text(log)
    code, node, words = run(CODE, str(tmp_path / "log"), str(status)).splitlines()
    assert (code, node) == (means or "-1402 transient", "n2" if "on node n2" in log else "")
    assert words
    assert not [each for each in words.split("; ") if each.startswith("srun: ") or "Waiting" in each]


@pytest.mark.parametrize(
    ("log", "status"),
    [
        ("srun: error: n1: task 0: Exited with exit code 1\n", 1),
        ("paislurm: skopeo: --tls-verify is incompatible; connection timed out\n", 1),
        ("srun: error: n1: task 0: Killed\n", 137),
        ("", 1),
    ],
)
def test_a_started_step_is_not_a_failed_launch(tmp_path: Path, log: str, status: int) -> None:
    (tmp_path / "log").write_text(log)
    assert len(run(CODE, str(tmp_path / "log"), str(status)).splitlines()) == 1


@settings(max_examples=25, deadline=None)
@given(st.lists(st.binary(max_size=400), max_size=8))
@example([b"srun: error: \x1b[31m\xff\xfe\x00 " + b"x" * 5000] * 50)
def test_any_srun_message_is_shortened_and_fits_into_the_result(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    file = tmp_path_factory.mktemp("srun") / "log"
    file.write_bytes(b"\n".join(lines))
    code = 'explain_launch "$1" 1; escape_json "$PSL_LAUNCH_WORDS"; printf "%s" "$PSL_ESCAPED"'
    words = json.loads(f'"{run(code, str(file))}"')
    assert 0 < len(words) < 700
    assert (words.isascii(), words.isprintable()) == (True, True)


@pytest.mark.parametrize("failed", [-1, 1, 2])
@pytest.mark.parametrize("gang", [True, False])
@pytest.mark.parametrize(("log", "status", "means"), [ENDS[0], ENDS[-1], ("", 137, "")])
def test_a_step_without_started_tasks_is_a_failed_launch(
    tmp_path: Path, log: str, status: int, means: str, gang: bool, failed: int
) -> None:
    """Neither a threshold nor a retry counts; srun's words are the reason."""
    reported = lose(tmp_path, f"step 0 {status}", log=log, gang=gang, failed=failed, retries=3, max_transient_retries=3)
    assert reported.outcome == f"failed {means or '-1402 transient'}"
    words = {0: "killed by signal 9", 1: "incompatible with --distribution=arbitrary", 2: "Job prolog failed"}
    assert words[len(log.splitlines()) and (2 if "rolog" in log else 1)] in reported.reason
    assert reported.tasks == ({"0.1": "failed -1403"} if "rolog" in log else {})
    assert reported.orders in ([], ["quit"])


@pytest.mark.parametrize("failed", [-1, 1, 2])
@pytest.mark.parametrize("status", [0, 1])
def test_a_step_with_one_of_two_tasks_started_is_reported(tmp_path: Path, failed: int, status: int) -> None:
    """That the other succeeded, or was killed when the launch failed, does not count."""
    for kind, end in (("good", FIRST_SUCCEEDS), ("killed", "exit 0 0 0 0 137 137 transient 1")):
        folder = tmp_path / kind
        folder.mkdir()
        reported = lose(folder, BOTH_START[0], f"step 0 {status}", end, log=REFUSED_BY_A_NODE, failed=failed)
        assert (reported.outcome, reported.tasks["0.1"]) == ("failed -1402 transient", "failed -1402")
        assert "on node n2" in reported.reason


def test_a_launch_failure_reported_by_srun_ends_the_job_at_once(tmp_path: Path) -> None:
    """Before its step ends, and before the tasks that it kills for that do."""
    reported = lose(tmp_path, BOTH_START[0], "unlaunched 0 n2", "died 0 0 0 137", log=PROLOG, failed=1)
    assert (reported.outcome, reported.tasks) == ("failed -1403 transient", {"0.0": "ended", "0.1": "failed -1403"})


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        (("-1402", "-1403"), "-1403 transient role r1 could not be started, because the Prolog failed on node n1: why"),
        (("-1403", "-1402"), "-1403 transient role r0 could not be started, because the Prolog failed on node n0: why"),
        (("-1402", "-1402"), "-1402 transient role r0 could not be started on node n0: why"),
    ],
)
def test_the_first_failed_launch_counts_unless_a_prolog_failed(codes: tuple[str, str], reason: str) -> None:
    """Srun may report first that another node does not answer; the reason that helps is that of the Prolog."""
    code = """
        PSL_ROLE_NAME=(r0 r1) PSL_NOW=1000
        decide() { printf '%s\\n' "$*"; }
        for role in 0 1; do
          PSL_LAUNCH_FAILURE="$1 transient" PSL_LAUNCH_NODE=n$role PSL_LAUNCH_WORDS=why
          note_failed_launch "$role" && shift
        done
        PSL_NOW=1002 && settle_failed_launch
    """
    assert run(code, *codes) == f"failed {reason}\n"


def test_a_shell_that_dies_before_its_task_starts_is_reported(tmp_path: Path) -> None:
    reported = lose(tmp_path, BOTH_START[0], "died 0 1 1 137", log="srun: error: n2: task 1: Killed\n", failed=-1)
    assert (reported.outcome, reported.tasks["0.1"]) == ("failed -1402 transient", "failed -1402")
    assert reported.reason == "role w could not be started on node n2: n2: task 1: Killed"


def test_a_step_out_of_memory_at_its_start_is_reported(tmp_path: Path) -> None:
    reported = lose(tmp_path, "step 0 1", log="srun: error: n1: task 0: Out Of Memory\n", failed=-1)
    assert reported.outcome == "failed -1200 permanent"


@pytest.mark.parametrize(("log", "status", "means"), [ENDS[0], ENDS[-1], ("", 137, "")])
def test_a_preparation_step_that_never_started_is_reported(tmp_path: Path, log: str, status: int, means: str) -> None:
    """Its end has a cause of its own, too; the node that is to blame stands in the result."""
    code = """
        cd "$1" && mkdir srun && PSL_SCRATCH=$1 PSL_GANG=1 PSL_LAYOUT=shared
        PSL_ROLE_NAME=(w) PSL_INSTANCES=(2) PSL_NODES_OF=('n1 n2') PSL_EVERY_COMPONENT=(0) PSL_INFINIBAND_CHECKS=(ib0)
        run_on_nodes() { printf '%s' "$LOG_TEXT" >"srun/$1-$2.log"; return "$STATUS_OF_SRUN"; }
        sleep() { :; }
        exec {PSL_EVENT_FD}<> <(:)
        write_result() { echo "$PSL_OUTCOME $PSL_OUTCOME_CODE $PSL_OUTCOME_BEHAVIOUR"; say_more; }
        say_more() { echo "$PSL_OUTCOME_REASON"; echo "${PSL_NODE_OF[0.1]-}"; }
        log() { :; }
        (check_infiniband) ; echo "$?"
    """
    env = {"LOG_TEXT": log, "STATUS_OF_SRUN": str(status)}
    outcome, reason, node, ended = run(code, str(tmp_path), env=env).splitlines()
    assert (outcome, ended) == (f"failed {means or '-1402 transient'}", "4")
    assert ("step fabric" in reason, node) == (True, "n2" if "rolog" in log else "")


def test_a_call_prints_no_message_of_srun_about_binding(tmp_path: Path) -> None:
    """A site without a task plugin has it for each call; it is not the command's."""
    file = tmp_path / "log"
    file.write_text("srun: cluster configuration lacks support for cpu binding\nsrun: warning: slow\n")
    assert run('show_errors n1 <"$1" 2>&1; echo "$?"', str(file)) == "srun: warning: slow\n0\n"
