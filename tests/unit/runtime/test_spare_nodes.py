"""The restart of all tasks on spare nodes. Fakes: Slurm, the steps and the clock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .bash import run

FAKES = """
    SLURM_JOB_ID=7 SLURMD_NODENAME=n1 SLURM_JOB_NODELIST=n1,n2,n3,n4,n5 PSL_GRACE=5 PSL_GANG=1 PSL_NOW=1000
    PSL_ROLE_NAME=(w) PSL_INSTANCES=(3) PSL_NODES_OF=('n1 n2 n3') PSL_STEP_RUNNING=(1) PSL_SUPERVISING=1
    PSL_ADDRESS_OF=([n1]=1 [n2]=2 [n3]=3) PSL_SCRATCH=scratch PSL_ATTEMPT_FOLDER=$PWD
    mkdir -p scratch srun tasks && : >lost-nodes
    scontrol() {
      if [[ $1 == show ]]; then printf '%s\\n' ${3//,/ }; else
        printf 'JobId=7 ReqNodeList=n9 ExcNodeList=(null) NodeList=%s BatchHost=n1\\n' "$LIVING"; fi
    }
    read_clock() { :; }
    read_uptime() { PSL_UPTIME=0; }
    write_result() { :; }
    send_command() { :; }
    signal_steps() { :; }
    log() { :; }
    clean_up_nodes() { :; }
    read_all_events() { PSL_NOW=$((PSL_NOW + 1)); }
    scancel() { printf 'scancel %s\\n' "$*"; }
"""


def bash(folder: Path, code: str, **values: str) -> str:
    """Run bash after the runtime and the fakes, and return what it prints."""
    setup = "".join(f"{name}={value!r}\n" for name, value in values.items())
    return run(f"{FAKES}\n{setup}\n{code}", cwd=folder, loss="spare")


@pytest.mark.parametrize(
    ("living", "after"),
    [
        ("n1,n3,n4,n5", "n1 n4 n3 n5"),
        ("n1,n2,n5", "n1 n2 n5"),
        ("n1,n4,n5", "n1 n4 n5"),
        ("n1,n2,n3,n4,n5", "failed -1001"),
        ("n1,n2,n3", "failed -1001"),
        ("n1,n2", "failed -1001"),
        ("n2,n3,n4,n5", "failed -1001"),
    ],
)
def test_a_spare_node_takes_the_place_of_a_lost_one(tmp_path: Path, living: str, after: str) -> None:
    """All other tasks keep their nodes. Too few spare nodes, and the loss of the batch node, end the job."""
    code = """
        on_node_loss 0 n2
        if [[ $PSL_OUTCOME == restarting ]]; then echo "${PSL_NEXT_NODES[*]}"; else
          echo "$PSL_OUTCOME $PSL_OUTCOME_CODE"; fi
    """
    assert bash(tmp_path, code, LIVING=living).strip() == after


@pytest.mark.parametrize(
    ("living", "failure", "node", "after"),
    [
        (
            "n1,n2,n3,n4,n5",
            "-1402 transient",
            "n2",
            "n1 n4 n3 n5",
        ),  # its slurmd is dead, and Slurm does not know it yet
        ("n1,n3,n4,n5", "-1402 transient", "", "n1 n4 n3 n5"),
        ("n1,n3,n4,n5", "-1402 transient", "n3", "n1 n4 n5"),
        ("n1,n2,n3,n4,n5", "-1402 transient", "", "failed -1402"),
        ("n1,n2,n3", "-1402 transient", "n2", "failed -1402"),
        ("n1,n2,n3,n4,n5", "-1402 transient", "n1", "failed -1402"),  # the batch script runs there
        ("n1,n3,n4,n5", "-1401 permanent", "", "failed -1401"),
    ],
)
def test_a_launch_that_fails_is_a_loss_like_any_other(
    tmp_path: Path, living: str, failure: str, node: str, after: str
) -> None:
    code = """
        PSL_FAILED_LAUNCH=('role w' "$FAILURE" "$NODE" words) PSL_FAILED_LAUNCH_AT=1000
        settle_failed_launch; echo "${#PSL_FAILED_LAUNCH[@]}"
        if [[ $PSL_OUTCOME == restarting ]]; then
          (end_start); source scratch/restart; echo ${SLURM_JOB_NODELIST//,/ }
        else echo "$PSL_OUTCOME $PSL_OUTCOME_CODE"; fi
    """
    said = bash(tmp_path, code, LIVING=living, FAILURE=failure, NODE=node).splitlines()
    assert said == ["0", after]


def test_a_lost_batch_node_makes_the_script_end_the_slurm_job(tmp_path: Path) -> None:
    code = "on_node_loss 0 n1; PSL_STEP_RUNNING=(); end_start; cat lost-nodes"
    assert bash(tmp_path, code, LIVING="n2,n3,n4,n5").split() == ["scancel", "7", "n1"]


def test_a_restart_waits_for_the_tasks_of_the_lost_node_and_is_recorded(tmp_path: Path) -> None:
    """The next start has its own numbers, nodes and messages."""
    code = """
        on_start 0 1 1 3 n2 5 999
        find_checkpoint() { PSL_NEWEST=900; }
        on_node_loss 0 n2
        (end_start); echo "status $? at $PSL_NOW"
        PSL_NODES_OF=() && source scratch/restart
        echo "$SLURM_JOB_NODELIST $SLURM_JOB_NUM_NODES $PSL_FIRST_RUN" srun*
        echo "[$PSL_RESTARTS]"
        on_start 0 1 1 3 n2 5 999; on_start 0 2 2 4 n3 6 1001
        echo "${PSL_STATE[0.2]}"
    """
    status, nodes, restarts, state = bash(tmp_path, code, LIVING="n1,n3,n4,n5").splitlines()
    assert status == "status 8 at 1000"
    assert nodes == "n1,n4,n3,n5 4 4 srun srun.0"
    assert json.loads(restarts) == [{"at": 1000, "lost_node": "n2", "spare_node": "n4", "checkpoint_at": 900}]
    assert state == "running"


@pytest.mark.parametrize(("report", "seconds"), [("exit 0 1 1 0 137 137 unknown 999 0\n", 0), ("", 5)])
def test_the_wait_for_a_dead_node_is_short(tmp_path: Path, report: str, seconds: int) -> None:
    """The tasks of a node without slurmd report their end in the run folder."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/n2.log").write_text(report)
    code = "on_start 0 1 1 0 n2 5 999; on_node_loss 0 n2; await_lost_tasks; echo $((PSL_NOW - 1000))"
    assert bash(tmp_path, code, LIVING="n1,n3,n4,n5").strip() == str(seconds)


@pytest.mark.parametrize(("signal", "outcome"), [("TERM", "interrupted -210"), ("USR1", "failed -1004")])
def test_the_end_of_the_job_overtakes_a_restart(tmp_path: Path, signal: str, outcome: str) -> None:
    code = f'on_node_loss 0 n2; on_signal {signal}; end_start; echo "$PSL_OUTCOME $PSL_OUTCOME_CODE"'
    assert bash(tmp_path, code, LIVING="n1,n3,n4,n5", PSL_INTERRUPTED_GRACE="1", PSL_WARNING="1").strip() == outcome


def test_a_step_that_does_not_end_prevents_the_restart(tmp_path: Path) -> None:
    code = """
        on_node_loss 0 n2; PSL_NOW=1005; stop_late_steps; PSL_NOW=1015; stop_late_steps
        end_start; echo "$PSL_OUTCOME $PSL_OUTCOME_CODE $PSL_OUTCOME_REASON"
    """
    said = bash(tmp_path, code, LIVING="n1,n3,n4,n5").strip()
    assert said == "failed -1001 node n2 was lost while role w ran"


@pytest.mark.parametrize(("lost", "killed"), [(" n1 n2", "1"), ("n1", ""), ("", "")])
def test_commands_on_a_lost_node_are_killed(tmp_path: Path, lost: str, killed: str) -> None:
    code = f"""
        SLURMD_NODENAME=n2 PSL_COMMAND=4711; printf '%s\\n' '{lost}' >lost-nodes
        kill() {{ printf '%s\\n' "$*" >>killed; }}
        watch_nodes; echo "$PSL_STOPPED$([[ ! -e killed ]] || cat killed)"
    """
    assert bash(tmp_path, code, LIVING="n1").strip() == ("1-KILL -- -4711" if killed else "0")


def test_a_batch_script_on_a_lost_node_ends_the_job_by_that(tmp_path: Path) -> None:
    """Its own tasks, which are killed there, decide nothing."""
    code = """
        on_start 0 0 0 0 n1 5 999; printf ' n1\n' >lost-nodes
        on_exit 0 0 0 0 137 137 unknown 0; see_own_loss; PSL_NOW=1009; accept_exits
        PSL_STEP_RUNNING=(); end_start; echo "$PSL_OUTCOME $PSL_OUTCOME_CODE"
    """
    assert bash(tmp_path, code, LIVING="n1,n2,n3,n4").split() == ["scancel", "7", "failed", "-1001"]


@pytest.mark.parametrize(("outcome", "code"), [("failed", 255), ("succeeded", 0), ("interrupted", -1001)])
def test_only_a_decided_result_outlives_the_loss_of_the_batch_node(tmp_path: Path, outcome: str, code: int) -> None:
    """A TERM of Slurm may have reached the script."""
    (tmp_path / "result.json").write_text(f'{{"outcome": "{outcome}", "exit_code": {code if code >= 0 else -210}}}')
    bash(tmp_path, "end_headless_job ''", LIVING="n2")
    assert json.loads((tmp_path / "result.json").read_text())["exit_code"] == code


def test_hosts_are_those_of_tasks_on_living_nodes(tmp_path: Path) -> None:
    code = "PSL_ROLE_GPUS=(2); write_host_discovery discover; ./discover; printf ' n2\\n' >lost-nodes; ./discover"
    said = bash(tmp_path, code, LIVING="n1").split()
    assert said == ["w-0:2", "w-1:2", "w-2:2", "w-0:2", "w-2:2"]


@pytest.mark.parametrize(
    ("living", "lost"), [("n2,n3", {"n1"}), ("n2", {"n1", "n3"}), ("n1,n2,n3", set()), ("n1,n2", set())]
)
def test_tasks_end_a_job_whose_batch_node_is_lost(tmp_path: Path, living: str, lost: set[str]) -> None:
    """The nodes of a job ask Slurm in turn; one task writes the result."""
    code = """
        SLURMD_NODENAME=n2 SLURM_LOCALID=0; scancel() { echo "$1" >>cancelled; }
        for PSL_NOW in {1000..1400..2}; do watch_nodes; wait; done; touch cancelled; cat cancelled lost-nodes
    """
    said = bash(tmp_path, code, LIVING=living).split()
    assert set(said) == ({"7", *lost} if lost else set())
    if lost:
        result = json.loads((tmp_path / "result.json").read_text())
        assert (result["exit_code"], result["reason"]) == (-1001, "the batch node n1 was lost")
