"""Commands have the umask of the shell that submits, whoever submits the attempt and whatever runs their container."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.cluster.processes import wait_until

from ...app.ran import script
from ...protocol.jobs import JOB, changed
from ..running import PROGRAM, job_file

ANOTHER = 0o027
"""The umask of the shell that waits for the job, or runs a command in a task."""
CONTAINER = """#!/bin/bash -p
# Run the command of a container here, with the umask of a container.
umask 0022
case ${0##*/} in
  unshare) until [[ $1 == -- ]]; do shift; done ;;
  podman) until [[ $1 == --rootfs ]]; do shift; done; set -- image bash "${@:3}" ;;
  apptainer) until [[ $1 == exec ]]; do shift; done; shift; while [[ $1 == --* ]]; do shift; done ;;
esac
shift
exec env PATH="$PATH" "$@"
"""
SEEN = 'echo "{} $(umask)" >>"$PAISLURM_SUBMIT_DIR/seen"'
COMMANDS = [
    SEEN.format("commands"),
    f"ssh -n worker-0 '{SEEN.format('ssh')}'",
    'touch "$PAISLURM_SUBMIT_DIR/result"; mkdir "$PAISLURM_SUBMIT_DIR/$FC_FRAMEWORK_ATTEMPT_ID"',
    '[ "$FC_FRAMEWORK_ATTEMPT_ID" = 1 ]',
]
HOOKS = ("taskStarts", "taskSucceeds", "taskFails", "containerExit")
PLUGIN = [
    {
        "plugin": "cmd",
        "parameters": {"callbacks": [{"event": event, "commands": [SEEN.format(event)]} for event in HOOKS]},
    }
]
FAILED = ["start", "taskStarts", "commands", "ssh", "taskFails", "containerExit"]
SUCCEEDED = ["start", "taskStarts", "commands", "ssh", "taskSucceeds", "containerExit"]


def paislurm(folder: Path, *words: str, umask: int) -> subprocess.CompletedProcess[str]:
    """Run the program with stand-ins for container runtimes on PATH."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name in ("unshare", "apptainer", "podman", "ch-run"):
        (programs / name).write_text(CONTAINER)
        (programs / name).chmod(0o755)
    return subprocess.run(
        [*PROGRAM, *words],
        env={**os.environ, "PAISLURM_HOME": str(folder / "home"), "PATH": f"{programs}:{os.environ['PATH']}"},
        umask=umask,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def submit(folder: Path, runtime: str, monitor: str, commands: list[str], *, umask: int) -> Path:
    """Submit a job with a hook of each kind, and return its folder."""
    (folder / "image").mkdir()
    site = folder / "site.yaml"
    containers = f"containers: {{runtime: {runtime}, images: {{'python:3.11': {folder}/image}}}}\n" if runtime else ""
    site.write_text(f"partitions: {{local: {{}}}}\ndefaultPartition: local\nmonitor: {monitor}\n{containers}")
    job = {**JOB, "jobRetryCount": 1, "extras": {"com.microsoft.pai.runtimeplugin": PLUGIN}}
    job["prerequisites"] = [*JOB["prerequisites"], script("a", ("taskStarts", SEEN.format("start")))]
    for key, value in (("commands", commands), ("instances", 1), ("prerequisites", ["a"])):
        job = changed(job, f"taskRoles/worker/{key}", value)
    file = job_file(folder, yaml.safe_dump(job))
    done = paislurm(folder, "submit", file, "--backend", "local", "--site", str(site), umask=umask)
    assert done.returncode == 0, done.stderr
    (found,) = (folder / "home/jobs").iterdir()
    return found


@pytest.mark.slow("two attempts of a job")
@pytest.mark.parametrize("runtime", ["", "charliecloud", "apptainer", "podman"])
@pytest.mark.parametrize("umask", [0o002, 0o022, 0o077])
def test_all_code_of_the_user_has_the_umask_of_the_submit(tmp_path: Path, umask: int, runtime: str) -> None:
    """The end of the first attempt submits the second one. What the script writes is private."""
    job = submit(tmp_path, runtime, "none", COMMANDS, umask=umask)
    done = paislurm(tmp_path, "wait", "demo", umask=ANOTHER)
    logs = {str(path): path.read_text() for path in job.rglob("*.log")}
    assert done.returncode == 0, (done.stderr, logs)
    assert (tmp_path / "seen").read_text().splitlines() == [f"{each} {umask:04o}" for each in (*FAILED, *SUCCEEDED)]
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("result", "0", "1")]
    assert modes == [0o666 & ~umask, 0o777 & ~umask, 0o777 & ~umask]
    for attempt in ("0", "1"):
        below = [path for path in (job / "attempts" / attempt).rglob("*") if "work" not in path.parts]
        assert len(below) > 5
        assert [path for path in below if path.stat().st_mode & 0o077] == []
    assert re.findall(r"\bumask 0002\b", (job / "attempts/0/job.head").read_text()) == []


@pytest.mark.slow("a whole job")
@pytest.mark.parametrize("umask", [0o002, 0o077])
def test_another_shell_retries_and_runs_commands_with_the_umask_of_the_submit(tmp_path: Path, umask: int) -> None:
    """The command that waits submits the second attempt, in which `exec` runs a command."""
    ready, stop = tmp_path / "ready", tmp_path / "stop"
    commands = [
        SEEN.format("commands"),
        '[ "$FC_FRAMEWORK_ATTEMPT_ID" = 1 ]',
        f"touch {ready}; until [ -e {stop} ]; do sleep 0.1; done",
    ]
    submit(tmp_path, "", "{background: false}", commands, umask=umask)

    def begun() -> bool:
        paislurm(tmp_path, "status", "demo", umask=ANOTHER)
        return ready.exists()

    wait_until(begun, "the second attempt", 60)
    done = paislurm(tmp_path, "exec", "demo", "worker-0", "umask", umask=ANOTHER)
    stop.touch()
    assert (done.returncode, done.stdout) == (0, f"{umask:04o}\n"), done.stderr
    assert paislurm(tmp_path, "wait", "demo", umask=ANOTHER).returncode == 0
    seen = [line for line in (tmp_path / "seen").read_text().splitlines() if line.startswith("commands")]
    assert seen == [f"commands {umask:04o}"] * 2
