"""Jobs of protocol v1, seen from the running task: real jobs on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.processes import wait_until

PROGRAM = (sys.executable, "-m", "paislurm.translator.cli.main")


def job(tmp_path: Path, command: str, **values: object) -> str:
    """Write a job file of protocol v1 with one role `w`."""
    role = {"name": "w", "taskNumber": 2, "cpuNumber": 1, "memoryMB": 100, "gpuNumber": 0, "command": command}
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"jobName": "old", "image": "debian", "taskRoles": [role], **values}))
    return str(file)


def paislurm(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *argv], env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A folder of code, with blanks and a quote in its path."""
    folder = tmp_path / "it's mine" / "code"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "train.sh").write_text("echo trained\n")
    return folder


@pytest.mark.slow("a whole job")
def test_each_task_gets_a_copy_of_the_link_target(tmp_path: Path, code: Path, surroundings: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(code)
    command = "bash link/deep/train.sh && touch link/mine"
    done = paislurm("submit", job(tmp_path, command, codeDir=str(link)), "--backend", "local", "--wait")
    assert done.returncode == 0, done.stderr
    (folder,) = surroundings.iterdir()
    assert (folder / "attempts/0/work/0-w/0/link/mine").exists()
    assert not (code / "mine").exists()


@pytest.mark.slow("a whole job")
@pytest.mark.parametrize("form", ["{}", "file://{}", "{}/"])
def test_code_is_in_the_working_directory_of_each_task(
    tmp_path: Path, code: Path, surroundings: Path, form: str
) -> None:
    command = 'bash code/deep/train.sh && echo "$PAI_TASK_INDEX" >>code/mine && cat code/mine'
    done = paislurm("submit", job(tmp_path, command, codeDir=form.format(code)), "--backend", "local", "--wait")
    assert done.returncode == 0, done.stderr
    (folder,) = surroundings.iterdir()
    logs = [(folder / f"attempts/0/logs/0-w/{index}.stdout.log").read_text() for index in (0, 1)]
    assert logs == ["trained\n0\n", "trained\n1\n"]
    assert not (code / "mine").exists()


@pytest.mark.slow("whole jobs, which wait")
def test_missing_code_fails_the_job(tmp_path: Path, code: Path, surroundings: Path) -> None:
    cases = {
        "is not there": str(code / "nowhere"),
        "names no folder": "/",
        "no hdfs command": "hdfs://host:9000/code",
    }
    for number, (words, where) in enumerate(cases.items()):
        file = job(tmp_path, "true", codeDir=where, jobName=f"old{number}")
        done = paislurm("submit", file, "--backend", "local", "--wait")
        assert (done.returncode, words in done.stderr) == (1, True), done.stderr
        (folder,) = surroundings.glob(f"*~old{number}")
        assert words in json.loads((folder / "attempts/0/result.json").read_text())["reason"]


def test_code_is_fetched_from_hdfs(tmp_path: Path, code: Path, surroundings: Path) -> None:
    """Stood in for: a program `hdfs` that copies."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "hdfs").write_text('#!/bin/bash\n[[ "$1 $2" == "dfs -get" ]] && cp -R "${3#hdfs://host:9000}" "$4"\n')
    (programs / "hdfs").chmod(0o755)
    file = job(tmp_path, "bash code/deep/train.sh", codeDir=f"hdfs://host:9000{code}")
    done = paislurm("submit", file, "--backend", "local", "--wait", PATH=f"{programs}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    (folder,) = surroundings.iterdir()
    assert (folder / "attempts/0/logs/0-w/0.stdout.log").read_text() == "trained\n"


@pytest.mark.slow("whole jobs, which wait")
@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_the_default_output_folder_is_made(tmp_path: Path, surroundings: Path, form: str) -> None:
    (tmp_path / "fs" / "Output").mkdir(parents=True)
    site = tmp_path / "site.yaml"
    site.write_text(f"defaultFileSystem: {form.format(tmp_path / 'fs')}\n")
    command = 'cd "${PAI_OUTPUT_DIR#file://}" && touch "model-$PAI_TASK_INDEX"'
    argv = ["--backend", "local", "--wait", "--site", str(site)]
    done = paislurm("submit", job(tmp_path, command), *argv)
    assert done.returncode == 0, done.stderr
    (output,) = (tmp_path / "fs" / "Output").glob("*/old")
    assert sorted(path.name for path in output.iterdir()) == ["model-0", "model-1"]
    assert output.stat().st_mode & 0o777 == 0o755
    # One that the job names is not, and neither is what all users share.
    named = str(tmp_path / "named")
    done = paislurm("submit", job(tmp_path, '[[ ! -e "$PAI_OUTPUT_DIR" ]]', outputDir=named, jobName="named"), *argv)
    assert done.returncode == 0, done.stderr
    (tmp_path / "fs").rename(tmp_path / "moved")
    done = paislurm("submit", job(tmp_path, "true", jobName="moved"), *argv)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "fs").exists()
    (log,) = surroundings.glob("*~moved/attempts/0/slurm.log")
    assert f"the default outputDir {tmp_path / 'fs'}/Output/" in log.read_text()


@pytest.mark.slow("whole jobs, which wait")
def test_a_failed_task_is_held(tmp_path: Path, surroundings: Path) -> None:
    file = job(tmp_path, 'exit "$((PAI_TASK_INDEX * 3))"', jobEnvs={"isDebug": True})
    assert paislurm("submit", file, "--backend", "local").returncode == 0

    def task() -> dict[str, Any]:
        tasks: list[dict[str, Any]] = document_of("status", "old")["tasks"]
        return tasks[1]

    wait_until(lambda: task()["hold_ends_at"] is not None, "the task to fail", 30)
    assert (task()["state"], task()["exit_status"]) == ("RUNNING", 3)
    assert "w-1 failed with status 3; it is held on " in paislurm("status", "old").stdout
    (line,) = [line for line in paislurm("status", "old").stdout.splitlines() if "paislurm exec" in line]
    words = line.partition("paislurm ")[2].partition(";")[0].split()
    (folder,) = surroundings.iterdir()
    attempt = folder / "attempts" / "0"
    assert paislurm(*words, "--", "pwd").stdout == f"{attempt / 'work' / '0-w' / '1'}\n"
    assert paislurm("cancel", "old").returncode == 0

    def reported() -> list[str]:
        lines = (attempt / "tasks" / "localhost.log").read_text().split("\n")
        return [line.split(" ")[0] for line in lines if line.split(" ")[3:4] == ["1"]]

    # The reports go when a command has seen the end.
    wait_until(lambda: reported() == ["start", "held", "term", "exit"], "the held task to end", 30)
    waited = document_of("wait", "old")
    assert (waited["state"], waited["tasks"][1]["exit_status"], waited["tasks"][1]["hold_ends_at"]) == (
        "STOPPED",
        3,
        None,
    )


@pytest.mark.slow("whole jobs, which wait")
def test_the_site_limits_how_long_a_task_is_held(tmp_path: Path, surroundings: Path) -> None:
    site = tmp_path / "site.yaml"
    site.write_text(
        "partitions: {p: {nodes: [{count: 1, cpus: 4, memoryMB: 4000}]}}\ndefaultPartition: p\ntime: {debugHold: 1}\n"
    )
    file = job(tmp_path, "exit 4", jobEnvs={"isDebug": True})
    shown = paislurm("plan", file, "--site", str(site)).stdout
    assert "debug       a failed task is held for up to 0:00:01" in shown
    done = paislurm("submit", file, "--backend", "local", "--site", str(site), "--wait", "--json")
    assert (done.returncode, json.loads(done.stdout)["exit_code"]) == (1, 255)
    (folder,) = surroundings.iterdir()
    result = json.loads((folder / "attempts/0/result.json").read_text())
    assert result["tasks"][int(result["trigger"]["index"])]["exit_status"] == 4
