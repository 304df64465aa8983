"""The start of the script in a job that Slurm has restarted. Fakes: Slurm, the clock and the events."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from .bash import sourced

FAKES = """
    SLURM_JOB_ID=7 SLURMD_NODENAME=n1 PSL_ATTEMPT=0 PSL_ATTEMPT_FOLDER=$PWD PSL_MAX_TRANSIENT_RETRIES=3
    PSL_ENTERED=1 PSL_CLUSTER='' PSL_SCRATCH='' PSL_LAYOUT=plain PSL_INTERRUPTED_GRACE=5
    mkdir -p srun logs/0-w claim
    scontrol() {
      if [[ $1 == show ]]; then printf '%s\\n' ${3//,/ }; else printf 'JobId=7 Requeue=1 Restarts=%s\\n' "$COUNTED"; fi
    }
    read_clock() { :; }
    read_uptime() { PSL_UPTIME=0; }
    read_event() { PSL_NOW=$((PSL_NOW + 1)); }
    send_to_all_steps() { printf 'all %s\\n' "$*"; }
    log() { printf '%s\\n' "$*"; }
    start() {
      PSL_NOW=$1 SLURM_JOB_NODELIST=$2 SLURM_RESTART_COUNT=$3
      claim_attempt
      PSL_RESUMED_FROM=${4-}
      note_start
    }
"""


def bash(folder: Path, code: str, counted: int = 0) -> str:
    """Run bash after the runtime and the fakes, and return what it prints. `counted` are the restarts of Slurm."""
    script = f"set -u\n{sourced(loss='requeue')}\n{FAKES}\nCOUNTED={counted}\n{code}"
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    return done.stdout


def test_each_start_has_higher_attempt_numbers_and_lists_the_lost_nodes(tmp_path: Path) -> None:
    """The node that was lost first is back in the third start, and no task there may be killed.

    Each restart has the newest checkpoint, and the attempt that of its first start.
    """
    first = "(start 100 n1,n2,n3 0 90)\n: >logs/0-w/0.stdout.log\n: >logs/0-w/0.stdout.4.log\n"
    second = "(start 200 n2,n3,n4 1; echo $PSL_FIRST_RUN; cat lost-nodes)\n"
    third = """
        (start 300 n1,n3,n4 2 250; echo $PSL_FIRST_RUN; echo "[$PSL_RESTARTS]"
        cat lost-nodes; cat claim/owner; echo $PSL_RESUMED_FROM)
    """
    said = bash(tmp_path, first + second + "mkdir srun\n" + third).splitlines()
    assert said[:3] == ["Slurm has restarted the job after the loss of n1: all tasks start anew", "5", "n1"]
    assert said[3:5] == ["Slurm has restarted the job after the loss of n2: all tasks start anew", "5"]
    assert json.loads(said[5]) == [
        {"at": 200, "lost_node": "n1", "spare_node": "n4", "checkpoint_at": None},
        {"at": 300, "lost_node": "n2", "spare_node": "n1", "checkpoint_at": 250},
    ]
    assert said[6:] == ["n2", "7 2", "90"]
    assert sorted(path.name for path in tmp_path.glob("srun.*")) == ["srun.1", "srun.2"]


@pytest.mark.parametrize(
    ("before", "restarts", "said"),
    [
        ("", 4, "requeued"),
        ("rm claim/starts\n", 1, "requeued"),
        ('echo \'{"outcome": "interrupted"}\' >result.json\n', 1, "requeued"),
        ('echo \'{"outcome": "failed"}\' >result.json\n', 1, "attempt 0 has ended already"),
    ],
)
def test_other_restarts_run_nothing(tmp_path: Path, before: str, restarts: int, said: str) -> None:
    code = f"""
        (start 100 n1,n2 0)
        {before}
        write_result() {{ echo "$PSL_OUTCOME"; }}
        (start 200 n1,n2 {restarts}; echo runs)
        echo "status $?"
    """
    assert bash(tmp_path, code, counted=restarts).splitlines()[-2:] == [said, "status 3"]
    assert (tmp_path / "claim" / "owner").read_text() == "7 0\n"


@pytest.mark.parametrize(("counted", "said"), [(1, "all quit\nrestarting\n"), (0, "failed -1001\n")])
def test_the_loss_of_a_node_leaves_no_result_if_slurm_restarts_the_job(tmp_path: Path, counted: int, said: str) -> None:
    code = """
        (start 100 n1,n2 0)
        log() { :; }
        SLURM_RESTART_COUNT=0 PSL_SUPERVISING=1 PSL_ROLE_NAME=(w) PSL_CLAIMED=1
        print_result() { echo "$PSL_OUTCOME $PSL_OUTCOME_CODE"; }
        stop_tasks() { :; }
        on_node_loss 0 n2
        write_result
        if [[ -e result.json ]]; then cat result.json; else echo "$PSL_OUTCOME"; fi
    """
    assert bash(tmp_path, code, counted) == said


def test_an_earlier_start_that_lives_writes_nothing_and_signals_nothing(tmp_path: Path) -> None:
    code = """
        (start 100 n1,n2 0)
        (start 200 n2,n3 1)
        log() { :; }
        scancel() { echo "scancel $*"; }
        SLURM_RESTART_COUNT=0 PSL_CLAIMED=1 PSL_STEP_ID=(0) PSL_OUTCOME=failed
        print_result() { echo result; }
        write_result
        signal_steps KILL 0
        end_script
        ls
    """
    said = bash(tmp_path, code).splitlines()[1:]
    assert said == ["claim", "logs", "lost-nodes", "srun.1"]
    assert not (tmp_path / "claim" / "ended").exists()
