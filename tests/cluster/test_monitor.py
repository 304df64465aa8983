"""What goes wrong while a monitor looks after jobs, each time for real: nothing is lost, and nothing runs twice.

Three things are counted outside the program and must agree: the jobs in Slurm's accounting, the claims that batch
scripts made, and the lines that the user's command left in a ledger.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.children import child
from tests.cluster.instance import TWO_USERS, require_privilege
from tests.cluster.jobs import folder_of_alice
from tests.cluster.processes import wait_until
from tests.cluster.watched import ALONE, FIRST, KILLS, LONGEST, SAVES, Watched, check, watched

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.cluster import Cluster


@pytest.fixture(scope="module")
def ground(installed: Cluster) -> Path:
    """A folder of alice's for all jobs of this module."""
    return folder_of_alice(installed.home("alice") / f"monitor-{os.getpid()}")


@pytest.fixture(scope="module", autouse=True)
def killed(
    installed: Cluster, ground: Path
) -> Iterator[dict[tuple[str, int], tuple[Watched, subprocess.Popen[bytes]]]]:
    """Jobs whose monitor is killed in the middle of its work; others go on while the lock goes stale."""
    jobs = {
        (call, number): watched(installed, ground / f"k{call}{number}", "exit 1", retries=1, site=ALONE)
        for call, number in KILLS
    }
    waiting = {}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with ExitStack() as stack:
        for (call, number), job in jobs.items():
            wait_until((job.path / "attempts/0/result.json").exists, f"attempt 0 of {job.name}", LONGEST)
            inject = f"inject={call}:signal=KILL:when={number}"
            strace = ["strace", "-qq", "-o", str(job.folder / "trace"), "-e", f"trace={call}", "-e", inject]
            done = installed.run(
                [*strace, "paislurm", "monitor", "--once"], cwd=job.folder, env=job.env, timeout=LONGEST
            )
            (job.folder / "killed").write_text(str(done.returncode))
            words = job.argv("wait", "--json", job.name)
            waiting[call, number] = (job, stack.enter_context(child(words, **quiet)))
        yield waiting


@pytest.fixture(scope="module")
def jobs(installed: Cluster, ground: Path, killed: object) -> dict[str, Watched]:  # noqa: ARG001 - these begin first
    """Jobs that end by themselves, side by side."""
    kinds: dict[str, dict[str, Any]] = {
        "root-retried": {"command": f"{FIRST} || exit 0; {SAVES}", "site": "retry: {onRootCancel: retry}\n"},
        "timeout-retried": {
            "command": f"{FIRST} || exit 0; {SAVES}",
            "extras": "{slurm: {time: 10, onTimeout: retry}}",
        },
        "timeout": {"command": SAVES, "retries": 2, "extras": "{slurm: {time: 10}}"},
        "preempted": {
            "command": f"{FIRST} || exit 0; {SAVES}",
            "extras": "{slurm: {partition: spot}}",
            "memory": 900_000,
            "partitions": "partitions: {spot: {}}\n",
        },
        "two-monitors": {"command": "exit 1", "retries": 2, "site": ALONE},
        "clock-back": {
            "command": f"{FIRST} && sleep 8; kill -9 $$",
            "site": f"retry: {{maxTransientRetries: 2}}\n{ALONE}",
        },
        "told": {
            "command": "exit 1",
            "retries": 1,
            "extras": "{jobStatusChangeNotification: {running: true, retried: true, failed: true, stopped: true}}",
            "site": f'notifications: {{command: [sh, -c, "cat >>{ground}/told/events"]}}\n',
        },
    }
    jobs = {name: watched(installed, ground / name, **options) for name, options in kinds.items()}
    for name in ("timeout", "timeout-retried"):
        # Slurm looks for jobs that are near their limit every half minute or so; others go on meanwhile.
        jobs[name].begun()
        installed.admin(["scontrol", "update", f"jobid={jobs[name].latest()}", "timelimit=2"])
    return jobs


def test_root_cancel_is_retried_if_the_site_enables_it(installed: Cluster, jobs: dict[str, Watched]) -> None:
    require_privilege(TWO_USERS)
    job = jobs["root-retried"]
    job.begun()
    installed.admin(["scancel", job.latest()])
    check("scancel by root, retried", job, "SUCCEEDED", 0, 2)


def test_a_preempted_job_has_a_fresh_attempt(installed: Cluster, jobs: dict[str, Watched]) -> None:
    job = jobs["preempted"]
    job.begun()
    installed.run(["sbatch", "--partition=urgent", "--mem=500000", "--output=/dev/null", "--wrap=sleep 3"], check=True)
    shown = check("preempted", job, "SUCCEEDED", 0, 2)
    assert [(attempt["exit_code"], attempt["backend_state"]) for attempt in shown["attempts"]] == [(-1003, "PREEMPTED")]


def test_any_number_of_monitors_submit_one_attempt(jobs: dict[str, Watched]) -> None:
    job = jobs["two-monitors"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with ExitStack() as stack:
        monitors = [stack.enter_context(child(job.argv("monitor"), **quiet)) for _ in range(3)]
        check("three monitors at once", job, "FAILED", 255, 3)
        assert [monitor.wait(LONGEST) for monitor in monitors] == [0, 0, 0]


def test_retries_work_with_the_clock_set_back(installed: Cluster, jobs: dict[str, Watched]) -> None:
    """The monitor's own clock is an hour late; between two steps, not even always by the same."""
    job = jobs["clock-back"]
    job.begun()
    # The times of files are the server's.
    env = {**job.env, "NO_FAKE_STAT": "1", "FAKE_UTIME": "0"}
    for offset in ("-1h", "-30m"):
        done = installed.run(["faketime", "-f", offset, "paislurm", "monitor", "--once"], env=env, timeout=LONGEST)
        assert done.returncode == 0, done.stderr
    late = installed.command(["faketime", "-f", "-1h", "paislurm", "monitor"], user="alice", env=env)
    with child(late, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as monitor:
        check("clock an hour back", job, "FAILED", 137, 3)
        assert monitor.wait(LONGEST) == 0


def test_user_is_notified_once_of_each_event(jobs: dict[str, Watched]) -> None:
    job = jobs["told"]
    check("notified", job, "FAILED", 255, 2)
    events = job.folder / "events"

    def reported() -> list[str]:
        return [json.loads(line)["event"] for line in events.read_text().splitlines()] if events.exists() else []

    wait_until(lambda: "failed" in reported(), "the end to be told", 60)
    # Of a job that fails between two looks, nobody sees that it was running.
    assert sorted(set(reported()) - {"running"}) == ["failed", "retried"]
    assert len(reported()) == len(set(reported()))


def test_time_limit_is_retried_only_with_on_timeout(jobs: dict[str, Watched]) -> None:
    check("time limit", jobs["timeout"], "FAILED", -1004, 1)
    job = jobs["timeout-retried"]
    shown = check("time limit, onTimeout", job, "SUCCEEDED", 0, 2)
    assert [attempt["exit_code"] for attempt in shown["attempts"]] == [-1004]
    assert (job.path / "attempts/0/logs/0-w/0.stdout.log").read_text() == "ready\nsaved\n"


@pytest.mark.exclusive
@pytest.mark.parametrize("daemon", ["slurmctld", "slurmdbd"])
def test_daemon_outage_only_delays_the_retry(installed: Cluster, ground: Path, daemon: str) -> None:
    job = watched(installed, ground / daemon, "sleep 3; exit 1", retries=1)
    job.begun()
    installed.stop_daemon(daemon)
    try:
        wait_until((job.path / "attempts/0/result.json").exists, "the first attempt's end", LONGEST)
        assert "ended" not in [record["kind"] for record in job.journal()]
    finally:
        installed.start_daemon(daemon)
    check(f"{daemon} stopped", job, "FAILED", 255, 2)


def test_sbatch_timeout_does_not_submit_an_attempt_twice(installed: Cluster, ground: Path) -> None:
    """The controller takes the job, and sbatch says that it heard nothing."""
    programs = ground / "sbatch/bin"
    path = f"{programs}:{installed.environment('alice')['PATH']}"
    # A retry has the environment of the submit.
    env = {"PATH": path}
    job = watched(installed, ground / "sbatch", "sleep 1; exit 1", retries=1, site=ALONE, env=env)
    wait_until((job.path / "attempts/0/result.json").exists, "the first attempt's end", LONGEST)
    programs.mkdir()
    deaf = "echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1"
    (programs / "sbatch").write_text(f'#!/bin/sh\n/usr/bin/sbatch "$@" >/dev/null\n{deaf}\n')
    (programs / "sbatch").chmod(0o755)
    said = job.run("monitor", "--once", env=env)
    assert "it may have accepted the job" in said.stderr
    check("sbatch times out", job, "FAILED", 255, 2)


@pytest.mark.parametrize(("call", "number"), KILLS)
def test_job_completes_after_its_monitor_is_killed(
    killed: dict[tuple[str, int], tuple[Watched, subprocess.Popen[bytes]]], call: str, number: int
) -> None:
    job, waiting = killed[call, number]
    assert waiting.wait(LONGEST) == 1
    status = (job.folder / "killed").read_text()
    check(f"killed in {call} {number}" if status != "0" else f"not killed: {call} {number}", job, "FAILED", 255, 2)
