"""What a job leaves: how many files and folders, and for whom, whatever the user's umask lets others read."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paislurm.translator.state import tidy
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.kept_script import read_script

from ...cli.running import JOB, job_file
from ..asked import Asked
from ..ran import run_here

TASKS = 40
MANY = """
protocolVersion: 2
name: many
type: job
prerequisites: [{{name: plain, type: dockerimage, uri: debian}}]
taskRoles:
  worker:
    instances: {tasks}
    dockerImage: plain
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    commands: ['{command}']
extras: {extras}
"""
ONE_LOG, TWO_LOGS = (f"logs: {{oneFilePerTask: {each}}}\n" for each in ("true", "false"))


def submitted(tmp_path: Path, *, site: str, **changes: Any) -> Path:
    """Run a job to its success; return its folder."""
    file = job_file(tmp_path, MANY.format(**{"tasks": TASKS, "command": "pwd", "extras": "{}"} | changes))
    done = run_here(file, site=job_file(tmp_path, site, "site.yaml"))
    assert done.code == 0, done.view
    return done.folder


@pytest.mark.slow("whole jobs")
@pytest.mark.parametrize(
    ("extras", "site", "most"),
    [("{}", TWO_LOGS, 4), ("{gangAllocation: false}", TWO_LOGS, 4), ("{}", ONE_LOG, 3)],
    ids=["gang", "no-gang", "one-log"],
)
def test_a_task_uses_four_inodes(tmp_path: Path, extras: str, site: str, most: int) -> None:
    """Those of the job itself, the same for any number of tasks, are among them."""
    folder = submitted(tmp_path, extras=extras, site=site)
    assert len(list(folder.rglob("*.stdout.log"))) == TASKS
    assert len(list(folder.rglob("*"))) <= most * TASKS


@pytest.mark.slow("a whole job")
def test_a_requeued_job_that_was_tidied_runs_no_tasks(tmp_path: Path) -> None:
    """Slurm has a copy of the script of its own."""
    folder = submitted(tmp_path, tasks=1, site=TWO_LOGS)
    spooled = tmp_path / "slurm_script"
    spooled.write_bytes(read_script(JobFolder(path=folder), 0))
    assert not (folder / "attempts/0/job.sbatch").exists()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    job = {"SLURM_JOB_ID": "1", "SLURM_RESTART_COUNT": "1", "SLURMD_NODENAME": "n1", "SLURM_SUBMIT_DIR": str(tmp_path)}
    done = subprocess.run(
        ["bash", str(spooled), str(folder), "0", "tag"], env={**os.environ, **job}, capture_output=True, check=False
    )
    assert done.returncode == 6, done.stderr
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.slow("a whole job")
def test_one_file_contains_both_streams(asked: Asked, tmp_path: Path) -> None:
    folder = submitted(tmp_path, tasks=2, command="echo out; echo err >&2", site=ONE_LOG)
    logs = sorted((folder / "attempts/0/logs/0-worker").iterdir())
    assert [(log.name, log.read_text()) for log in logs] == [(f"{n}.stdout.log", "out\nerr\n") for n in range(2)]
    for stream in ("stdout", "stderr"):
        assert asked.logs.read("many", "worker-1", stream=stream).value == {"worker-1": "out\nerr\n"}


SECRET = "hunter2-hunter2"


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask", "profile")
def test_all_written_files_are_private(asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the attempt is tidied, and after."""
    text = JOB.replace("echo and bye", "echo <% $secrets.token %> | wc -c")
    file = job_file(tmp_path, f"{text}secrets: {{token: {SECRET}}}\n")
    with monkeypatch.context() as untidy:
        untidy.setattr(tidy, "_tidy_attempt", lambda *_, **__: False)
        done = run_here(file)
    assert done.code == 0, done.view
    of_the_backend = {"srun", "scontrol", "scancel"}
    assert private_programs(tmp_path) == {"ssh", "scp", "sftp", "pdsh", "paislurm-peer"} | of_the_backend
    (log,) = (tmp_path / "home").glob("jobs/*/attempts/0/logs/*/0.stdout.log")
    assert log.read_text().splitlines()[-1] == str(len(SECRET) + 1)
    assert asked.jobs.status("demo").code == 0
    assert private_programs(tmp_path) == of_the_backend


def private_programs(folder: Path) -> set[str]:
    """Return the names of the programs in the home; nobody else has a right to anything, and no file has the secret."""
    home = folder / "home"
    paths = [home, *home.rglob("*"), *(folder / "cache").rglob("*")]
    modes = {path: path.lstat().st_mode & 0o777 for path in paths if not path.is_symlink()}
    programs = {path.name for path, mode in modes.items() if path.is_file() and mode != 0o600}
    assert {modes[path] for path in modes if path.is_dir()} == {0o700}
    assert {modes[path] for path in modes if path.name in programs} <= {0o700}
    assert [path for path in modes if path.is_file() and SECRET.encode() in path.read_bytes()] == []
    return programs
