"""Jobs of the local backend while the disk is full: what has its room can be written and renamed, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paislurm.backends.base import JobId
from paislurm.backends.slurm_emulator import processes, records
from tests.cluster.processes import wait_until

from ..running import Runs

UNTIL_GO = "until [[ -e go ]]; do sleep 0.01; done\n"
STANDINS = str(Path(records.__file__).parents[3])
NO_ROOM = """
import errno, sys
sys.path.insert(0, sys.argv[1])
from paislurm.backends.slurm_emulator import records, supervisor
def refuse(path, value):
    raise OSError(errno.ENOSPC, "No space left on device")
records.write_json = refuse
sys.exit(supervisor.main(sys.argv[2:]))
"""


def supervised(folder: Path, program: str, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run a supervisor, by a program that changes something of it, for a job in a folder."""
    job = {"argv": argv, "directory": "/", "log": str(folder / "log"), "limit": None, "warning": None}
    (folder / "job.json").write_text(json.dumps(job))
    environment = {**os.environ, processes.JOB_MARK: str(folder)}
    words = [sys.executable, "-c", program, STANDINS, str(folder)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=60)


def fill_disk_of(runs: Runs, job_id: JobId) -> tuple[Path, int]:
    """Let no new record of the job be written; return what is in its way, and the process of the batch script."""
    folder = runs.home / "local" / job_id
    state = records.read_json(folder / "state.json")
    assert state is not None
    full = folder / f"state.json.{state['supervisor']}"
    full.symlink_to("/dev/full")
    return full, state["batch"]


@pytest.mark.parametrize(("command", "state", "status"), [("true", "COMPLETED", 0), ("exit 3", "FAILED", 3)])
def test_a_job_that_ends_on_a_full_disk_keeps_its_state_and_status(
    runs: Runs, command: str, state: str, status: int
) -> None:
    job_id = runs.submit(UNTIL_GO + command)
    fill_disk_of(runs, job_id)
    (runs.work(job_id) / "go").touch()
    ended = runs.end(job_id)
    assert (ended.state, ended.status) == (state, status)


def test_a_job_can_be_cancelled_on_a_full_disk(runs: Runs) -> None:
    job_id = runs.submit("sleep 600")
    fill_disk_of(runs, job_id)
    runs.backend.cancel(job_id)
    assert runs.end(job_id).raw_state == f"CANCELLED by {os.getuid()}"


def test_without_reserved_space_the_end_is_recorded_when_space_is_free(runs: Runs) -> None:
    job_id = runs.submit(UNTIL_GO + "exit 3")
    full, batch = fill_disk_of(runs, job_id)
    (runs.home / "local" / job_id / "state.json.end").unlink()
    (runs.work(job_id) / "go").touch()
    wait_until(lambda: processes.process(batch) is None, "the end of the script")
    assert not runs.observe(job_id).final
    full.unlink()
    assert (runs.end(job_id).state, runs.end(job_id).status) == ("FAILED", 3)


def test_a_supervisor_ends_when_its_job_was_removed(runs: Runs) -> None:
    job_id = runs.submit(UNTIL_GO + "exit 3")
    supervisor = int(fill_disk_of(runs, job_id)[0].suffix[1:])
    shutil.rmtree(runs.home / "local" / job_id)
    (runs.work(job_id) / "go").touch()
    wait_until(lambda: processes.process(supervisor) is None, "the end of the supervisor")
    runs.jobs.remove(job_id)


def test_a_job_that_cannot_be_recorded_is_not_started(tmp_path: Path) -> None:
    done = supervised(tmp_path, NO_ROOM, "sleep", "600")
    assert (done.returncode, done.stdout) == (1, "[Errno 28] No space left on device\n")
    assert processes.members(processes.ProcessFilter(tmp_path)) == []


def test_a_step_that_cannot_be_recorded_ends_with_an_error_message(runs: Runs) -> None:
    """A file is in the place of the folder of steps."""
    log = runs.run('touch "$PAISLURM_LOCAL_JOB/steps"; srun true; echo $?')
    assert log[-1] == "2"
    assert log[0].startswith("srun: error: ")


def test_space_for_the_end_record_is_reserved_before_the_job_starts(tmp_path: Path) -> None:
    order = """
import os, sys
sys.path.insert(0, sys.argv[1])
from paislurm.backends.slurm_emulator import records, supervisor
reserve, spawn = records.reserve, os.posix_spawnp
records.reserve = lambda path: (print("reserve", flush=True), reserve(path))
os.posix_spawnp = lambda *words, **more: (print("start", flush=True), spawn(*words, **more))[1]
sys.exit(supervisor.main(sys.argv[2:]))
"""
    done = supervised(tmp_path, order, "true")
    assert done.stdout.split()[:2] == ["reserve", "start"]
