"""How jobs of the local backend end: by scancel, at the time limit, and when their supervisor is gone."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from paislurm.backends.base import JobId
from paislurm.backends.slurm_emulator import processes, records
from tests.cluster.processes import wait_until

from ..running import Runs

TASK = 'trap "echo caught >>$PWD/caught; exit 0" TERM; touch up.$SLURM_PROCID; while :; do sleep 0.05; done'
WAIT = "until [[ -e up.0 && -e up.1 ]]; do sleep 0.01; done\n"


STEP = f"srun -n2 bash -c '{TASK}' &\n{WAIT}scancel --signal=TERM $SLURM_JOB_ID.0; wait $!; echo $?; wc -l <caught"
BATCH = "trap 'echo usr1' USR1; srun -n1 true; scancel --batch --signal=USR1 $SLURM_JOB_ID; echo on"
PRINTS = {
    "a step by its id": (STEP, ["0", "2"]),
    "a finished step": ("srun true; scancel -s KILL $SLURM_JOB_ID.0 2>/dev/null; echo $?", ["1"]),
    "no job": ("scancel 4711 2>/dev/null; echo $?", ["1"]),
    "only the script": (BATCH, ["usr1", "on"]),
}


@pytest.mark.parametrize(("commands", "log"), PRINTS.values(), ids=PRINTS)
def test_what_scancel_signals(runs: Runs, commands: str, log: list[str]) -> None:
    assert runs.run(commands) == log


def test_cancel_terminates_all_processes_of_the_job(runs: Runs) -> None:
    job_id = runs.submit(f"trap 'echo script' TERM\nsrun -n2 bash -c '{TASK}' &\n{WAIT}echo up; wait; wait; exit 3")
    runs.wait_for_line(job_id, "up")
    runs.backend.cancel(job_id)
    ended = runs.end(job_id)
    assert (ended.state, ended.raw_state) == ("CANCELLED", f"CANCELLED by {os.getuid()}")
    assert ended.status == 3
    assert runs.log(job_id) == ["up", "script"]
    assert (runs.work(job_id) / "caught").read_text() == "caught\n" * 2
    runs.wait_for_nothing(job_id)
    runs.backend.cancel(job_id)


def test_a_job_can_cancel_itself(runs: Runs) -> None:
    job_id = runs.submit("scancel $SLURM_JOB_ID; sleep 600")
    assert runs.end(job_id).state == "CANCELLED"


@pytest.mark.slow("waits for the time in which a job may end")
def test_a_process_that_ignores_sigterm_is_killed(runs: Runs) -> None:
    job_id = runs.submit("trap '' TERM; echo up; while :; do sleep 1; done")
    runs.wait_for_line(job_id, "up")
    began = time.monotonic()
    runs.backend.cancel(job_id)
    ended = runs.end(job_id)
    assert (ended.state, ended.signal) == ("CANCELLED", signal.SIGKILL)
    assert 4.5 < time.monotonic() - began < 15


@pytest.mark.slow("waits for the time in which a job may end")
def test_the_time_limit_ends_a_job(runs: Runs) -> None:
    job_id = runs.submit(
        "trap 'echo warned' USR1; trap 'echo ended; exit 3' TERM; echo up; while :; do sleep 0.05; done",
        "#SBATCH --time=0:2 --signal=B:USR1@1\n",
    )
    ended = runs.end(job_id)
    assert (ended.state, ended.raw_state, ended.status) == ("TIMEOUT", "TIMEOUT", 3)
    assert runs.log(job_id) == ["up", "warned", "ended"]


def test_leftover_processes_of_a_script_are_terminated(runs: Runs) -> None:
    job_id = runs.submit("setsid sleep 600 & srun bash -c 'sleep 600' & sleep 0.3")
    assert runs.end(job_id).state == "COMPLETED"
    runs.wait_for_nothing(job_id)


def recorded_state(runs: Runs, job_id: JobId) -> dict[str, object]:
    state = records.read_json(runs.home / "local" / job_id / "state.json")
    assert state is not None
    return state


def lose_supervisor(runs: Runs) -> JobId:
    job_id = runs.submit("echo up; sleep 600")
    runs.wait_for_line(job_id, "up")
    pid = int(str(recorded_state(runs, job_id)["supervisor"]))
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: processes.process(pid) is None, "the supervisor's end")
    return job_id


def test_a_job_without_supervisor_runs_as_long_as_its_processes(runs: Runs) -> None:
    job_id = lose_supervisor(runs)
    assert (runs.observe(job_id).state, runs.observe(job_id).final) == ("RUNNING", False)
    processes.kill_all(runs.process_filter(job_id))
    lost = runs.observe(job_id)
    assert (lost.state, lost.final) == ("NODE_FAIL", True)
    assert "supervisor is gone" in lost.reason


def test_a_job_without_supervisor_can_be_cancelled(runs: Runs) -> None:
    job_id = lose_supervisor(runs)
    runs.backend.cancel(job_id)
    assert runs.end(job_id).raw_state == f"CANCELLED by {os.getuid()}"
    runs.wait_for_nothing(job_id)


def test_after_a_restart_of_the_machine_the_job_is_lost(runs: Runs) -> None:
    job_id = runs.submit("sleep 600")
    rewrite(runs, job_id, boot="another")
    assert runs.observe(job_id).state == "NODE_FAIL"
    processes.kill_all(runs.process_filter(job_id))


def test_a_job_on_another_machine_keeps_its_state(runs: Runs) -> None:
    job_id = lose_supervisor(runs)
    processes.kill_all(runs.process_filter(job_id))
    rewrite(runs, job_id, host="elsewhere")
    assert runs.observe(job_id).state == "RUNNING"
    rewrite(runs, job_id, host=os.uname().nodename)


def rewrite(runs: Runs, job_id: JobId, **changes: str) -> None:
    path = runs.home / "local" / job_id / "state.json"
    path.write_text(json.dumps(recorded_state(runs, job_id) | changes), encoding="utf-8")
