"""What a monitor does when nodes are lost, when its folder is full, and when there are many jobs."""

from __future__ import annotations

import json
import os
import subprocess
import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.children import child
from tests.cluster.jobs import folder_of_alice, job_text, profile, role
from tests.cluster.processes import wait_until
from tests.cluster.sharing import small_file_system
from tests.cluster.watched import ALONE, COUNTED, LONGEST, check, watched

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster

JOBS, FAILING = 200, 10
"""So many jobs at once, of which one in ten fails and is retried."""


@pytest.fixture(scope="module")
def ground(installed: Cluster) -> Path:
    """A folder of alice's for all jobs of this module."""
    return folder_of_alice(installed.home("alice") / f"limits-{os.getpid()}-{time.monotonic_ns()}")


def holds(file: Path, text: str) -> bool:
    return file.exists() and text in file.read_text()


def fill_up(installed: Cluster, ground: Path, small: Path) -> None:
    gate = ground / "gate"
    home = small / f"home-{os.getpid()}"
    folder_of_alice(installed.seen(home))
    jobs = {
        "full before the result": f"until [ -e {gate} ]; do sleep 0.1; done; exit 1",
        "full after the result": "exit 1",
    }
    watching = {}
    for number, (fault, command) in enumerate(jobs.items()):
        job = watched(installed, ground / f"full{number}", command, retries=1, site=ALONE, home=home / str(number))
        job.begun()
        watching[fault] = job
    wait_until((job.path / "attempts/0/result.json").exists, "the result of an attempt")
    full = installed.run(["sh", "-c", f"cat /dev/zero >{small}/fill"])
    assert "No space left on device" in full.stderr
    gate.touch()
    logs = {fault: ground / f"{job.folder.name}.log" for fault, job in watching.items()}
    with ExitStack() as stack:
        stack.callback(installed.seen(small / "fill").unlink, missing_ok=True)
        monitors = []
        for fault, job in watching.items():
            with logs[fault].open("w") as output:
                monitors.append(stack.enter_context(child(job.argv("monitor"), stdout=output, stderr=output)))
        for fault, log in logs.items():
            wait_until(partial(holds, log, "cannot be written (No space left"), f"{fault}: a word of it", LONGEST)
            assert (len(watching[fault].lines()), len(watching[fault].job_ids())) == (1, 1)
        installed.seen(small / "fill").unlink()
        for fault, job in watching.items():
            check(fault, job, "FAILED", 255, 2)
        assert [monitor.wait(LONGEST) for monitor in monitors] == [0, 0]


def test_full_disk_is_reported_and_the_monitor_resumes(installed: Cluster, ground: Path) -> None:
    """It fills up before or after the script writes its result; the monitor goes on when there is room."""
    with small_file_system(installed.instance) as small:
        fill_up(installed, ground, small)


def test_many_jobs_at_once(installed: Cluster, ground: Path) -> None:
    """All end right, and Slurm is asked of all at once: fewer questions than jobs. Jobs of other tests go first."""
    folder = folder_of_alice(ground / "many")
    prefix = f"many-{os.getpid()}"
    asked, gate = folder / "asked", folder / "gate"
    waits = f"until [ -e {gate} ]; do sleep 0.2; done"
    line = f'echo "$PAI_JOB_NAME $FC_FRAMEWORK_ATTEMPT_ID $SLURM_JOB_ID" >> {folder}/ledger'
    fails = f'[ "$((${{PAI_JOB_NAME##*-}} % {FAILING}))" != 0 ]'
    text = job_text("thejob", role("w", 1, f"{waits}; {line}; {fails}").replace("cpu: 1", "cpu: 4"))
    (folder / "job.yaml").write_text(text + "jobRetryCount: 1\nextras: {slurm: {options: [--nice=10000]}}\n")
    (folder / "site.yaml").write_text(profile("normal") + ALONE)
    (folder / "submit.py").write_text(SUBMIT)
    programs = folder / "bin"
    programs.mkdir()
    for name in ("squeue", "sacct"):
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{asked}\nexec /usr/bin/{name} "$@"\n')
    for path in (*folder.iterdir(), *programs.iterdir()):
        path.chmod(0o755)
    path = f"{programs}:{installed.environment('alice')['PATH']}"
    env = {"PAISLURM_HOME": str(folder / "home"), "PAISLURM_SITE": str(folder / "site.yaml"), "PATH": path}
    submitted = installed.run(["python", "submit.py", prefix, str(JOBS)], cwd=folder, env=env, timeout=LONGEST)
    assert submitted.returncode == 0, submitted.stderr
    watching = installed.command(["paislurm", "monitor"], cwd=folder, env=env)
    with child(watching, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as monitor:
        wait_until(asked.exists, "the monitor's first question")
        gate.touch()
        assert monitor.wait(LONGEST) == 0

    asked_of = [line.split()[0] for line in asked.read_text().splitlines()]
    shown = json.loads(installed.run(["paislurm", "list", "--all", "--json"], cwd=folder, env=env).stdout)["jobs"]
    ledger = [line.split() for line in (folder / "ledger").read_text().splitlines()]
    claims = list((folder / "home/jobs").glob("*/attempts/*/claim/owner"))

    def accounts() -> list[str]:
        fields = ["sacct", "-X", "-n", "-P", "--starttime=now-1hour", "--format=JobID,JobName"]
        rows = [row.split("|") for row in installed.admin(fields).splitlines()]
        return [number for number, name in rows if name.startswith(prefix)]

    wait_until(lambda: len(accounts()) >= len(claims), "the accounting to know all jobs")
    accounted = accounts()
    questions = f"{asked_of.count('squeue')} squeue, {asked_of.count('sacct')} sacct"
    COUNTED.append((f"{JOBS} jobs at once", (len(accounted), len(claims), len(ledger)), questions))
    attempts = {f"{prefix}-{number}": 2 - bool(number % FAILING) for number in range(JOBS)}
    ends = {job["name"].partition("~")[2]: (job["state"], job["attempt"] + 1) for job in shown}
    assert ends == {name: ("SUCCEEDED" if count == 1 else "FAILED", count) for name, count in attempts.items()}
    assert sorted((name, int(attempt)) for name, attempt, _ in ledger) == sorted(
        (name, attempt) for name, count in attempts.items() for attempt in range(count)
    )
    assert sorted(accounted) == sorted(number for _, _, number in ledger)
    assert len(claims) == len(ledger)
    assert len(asked_of) < JOBS, questions


SUBMIT = """
import sys
from pathlib import Path
from paislurm.translator.cli.main import main

prefix, count = sys.argv[1:]
text = Path("job.yaml").read_text()
for number in range(int(count)):
    Path(f"{number}.yaml").write_text(text.replace("thejob", f"{prefix}-{number}"))
    status = main(["submit", f"{number}.yaml"])
    if status:
        sys.exit(status)
"""
