"""A site that forbids any process on its login nodes: attempts submit the next one, and cron does the rest.

What is counted is what `test_monitor` counts: Slurm's accounting, claims, and the ledger of the user's command.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.instance import LOGIN
from tests.cluster.jobs import folder_of_alice, profile
from tests.cluster.monitor_runs import cron, ended_by_cron, has_ended
from tests.cluster.processes import read, residents, wait_until
from tests.cluster.watched import FIRST, KILLS, LONGEST, SAVES, Watched, check, watched

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from tests.cluster.cluster import Cluster

STRICT = "monitor: none\n"
CHAOS = bool(os.environ.get("PAISLURM_CHAOS"))
chaos = pytest.mark.chaos("waits minutes for Slurm")
IN_ANY_RUN = ("alone", "het")
"""The jobs that are over in seconds; the others of `jobs` are for `make chaos`."""
SBATCH = """#!/bin/sh
# Let sbatch submit a retry, or not, and kill the monitor that called it; once.
if [ "{when}" = after ]; then /usr/bin/sbatch "$@" >/dev/null; fi
kill -KILL "$PPID"
"""


@pytest.fixture(scope="module")
def ground(installed: Cluster) -> Path:
    """A folder of alice's for all jobs of this module."""
    return folder_of_alice(installed.home("alice") / f"strict-{os.getpid()}")


def log_of(job: Watched, attempt: int = 0) -> str:
    return (job.path / f"attempts/{attempt}/slurm.log").read_text()


def on_login(job: Watched) -> list[str]:
    """Return the command lines of paislurm that run on the login node for the home of a job."""
    home = f"PAISLURM_HOME={job.home}\0"
    found = [Path(f"/proc/{pid}") for pid in residents(job.cluster.instance, [LOGIN])]
    lines = (read(each / "cmdline") for each in found if home in read(each / "environ"))
    return [line.replace("\0", " ") for line in lines if "paislurm" in line and "python" in line]


@pytest.fixture(scope="module", autouse=CHAOS)
def killed(installed: Cluster, ground: Path) -> Iterator[dict[str, tuple[Watched, Future[None]]]]:
    """Jobs whose batch script calls a monitor that is killed in the middle of its work; then cron comes to each."""
    jobs = {}
    for call, number in KILLS:
        job = watched(installed, ground / f"k{call}{number}", f"{FIRST} && sleep 2; exit 1", retries=1, site=STRICT)
        trace = [
            "strace", "-qq", "-o", str(job.folder / "trace"), "-e", f"trace={call}",
            "-e", f"inject={call}:signal=KILL:when={number}",
        ]  # fmt: skip
        words = (job.path / "monitor-call").read_bytes().split(b"\0")
        first = next(number for number, word in enumerate(words) if b"=" not in word)
        traced = [*words[:first], *(word.encode() for word in trace), *words[first:]]
        (job.path / "monitor-call").write_bytes(b"\0".join(traced))
        jobs[f"{call} {number}"] = job
    for when in ("before", "after"):
        programs = folder_of_alice(ground / f"bin-{when}")
        # A retry has the environment of the submit.
        env = {"PATH": f"{programs}:{installed.environment('alice')['PATH']}"}
        job = watched(installed, ground / f"s{when}", "exit 1", retries=1, site=STRICT, env=env)
        jobs[f"sbatch {when}"] = job
        (programs / "sbatch").write_text(SBATCH.format(when=when))
        (programs / "sbatch").chmod(0o755)
    # Locks go stale and intents are given up while others go on.
    with ThreadPoolExecutor(len(jobs)) as pool:
        yield {name: (job, pool.submit(ended_by_cron, job)) for name, job in jobs.items()}


@pytest.fixture(scope="module")
def jobs(installed: Cluster, ground: Path) -> dict[str, Watched]:
    """Jobs that end in ways of their own, side by side."""
    kinds: dict[str, dict[str, Any]] = {
        "alone": {"command": "exit 1", "retries": 2},
        "het": {
            "command": "exit 1",
            "retries": 1,
            "extras": "{slurm: {layout: het}}",
        },
        "back-off": {"command": "kill -9 $$", "site": f"retry: {{maxTransientRetries: 2}}\n{STRICT}"},
        "cancel-user": {"command": SAVES, "retries": 5},
        "root-retried": {
            "command": f"{FIRST} || exit 0; {SAVES}",
            "site": f"retry: {{onRootCancel: retry}}\n{STRICT}",
        },
        "timeout-retried": {
            "command": f"{FIRST} || exit 0; {SAVES}",
            "extras": "{slurm: {time: 10, onTimeout: retry}}",
        },
        "preempted": {
            "command": f"{FIRST} || exit 0; {SAVES}",
            "extras": "{slurm: {partition: spot}}",
            "memory": 900_000,
            "partitions": "partitions: {spot: {}}\n",
        },
    }
    chosen = kinds if CHAOS else IN_ANY_RUN
    jobs = {name: watched(installed, ground / name, **({"site": STRICT} | kinds[name])) for name in chosen}
    if not CHAOS:
        return jobs
    # Slurm looks for jobs that are near their limit every half minute or so; others go on meanwhile.
    jobs["timeout-retried"].begun()
    installed.admin(["scontrol", "update", f"jobid={jobs['timeout-retried'].latest()}", "timelimit=2"])
    return jobs


def test_the_end_of_an_attempt_submits_the_next_one(installed: Cluster, jobs: dict[str, Watched]) -> None:
    """Nobody else does: no command is called until it is over, and no process of ours is on the login node."""
    job = jobs["alone"]
    wait_until(has_ended(job), "the end of a job that nobody looks at", LONGEST)
    assert on_login(job) == []
    assert not (job.home / "monitor/monitor.log").exists()
    shown = check("none: exit 1, two retries", job, "FAILED", 255, 3)
    assert [attempt["retry_rule"] for attempt in shown["attempts"]] == ["retry 1 of 2", "retry 2 of 2"]
    assert "attempt 2 has been submitted" in log_of(job)
    # Slurm's own word is still that of the script.
    assert installed.sacct(job.job_ids()[0])[0]["State"] == "FAILED"


def test_retry_of_a_heterogeneous_job_requests_the_same_resources(installed: Cluster, jobs: dict[str, Watched]) -> None:
    job = jobs["het"]
    wait_until(has_ended(job), "the end of a heterogeneous job", LONGEST)
    check("none: heterogeneous", job, "FAILED", 255, 2)
    first, second = (installed.sacct(number)[0] for number in job.job_ids())
    assert (first["Partition"], first["ReqTRES"]) == (second["Partition"], second["ReqTRES"])


@chaos
def test_delayed_retry_is_submitted_at_once_with_begin_time(jobs: dict[str, Watched]) -> None:
    job = jobs["back-off"]
    wait_until(has_ended(job), "the end of a job that is retried later each time", LONGEST)
    check("none: kill -9", job, "FAILED", 137, 3)
    due, sent = (
        [record[key] for record in job.journal() if record["kind"] == kind]
        for kind, key in (("retry", "retry_at"), ("submitted", "happened_at"))
    )
    assert sent[2] < due[1] <= int((job.path / "attempts/2/claim").stat().st_mtime) + 1


@chaos
def test_cron_handles_cancelled_and_preempted_jobs(installed: Cluster, jobs: dict[str, Watched]) -> None:
    """Cancelled by its user, by root where the site has that retried, and preempted."""
    chosen = [jobs[name] for name in ("cancel-user", "root-retried", "preempted")]
    for job in chosen:
        job.begun()
    installed.run(["scancel", chosen[0].latest()], check=True)
    installed.admin(["scancel", chosen[1].latest()])
    installed.run(["sbatch", "--partition=urgent", "--mem=500000", "--output=/dev/null", "--wrap=sleep 3"], check=True)
    with cron(*chosen):
        for job in chosen:
            wait_until(has_ended(job), f"the end of {job.name}", LONGEST)
    check("none: scancel by user", chosen[0], "STOPPED", -210, 1)
    check("none: scancel by root, retried", chosen[1], "SUCCEEDED", 0, 2)
    check("none: preempted", chosen[2], "SUCCEEDED", 0, 2)
    monitor_runs = (chosen[0].home / "monitor/runs.log").read_text().splitlines()
    assert {line.split()[1] for line in monitor_runs} == {"submit", "cron"}


def test_cron_retries_a_job_whose_batch_script_was_killed(installed: Cluster, ground: Path) -> None:
    """Nothing of the script is left to call anything."""
    scripts = "$(scontrol listpids $SLURM_JOB_ID $SLURMD_NODENAME | awk '$3 == \"batch\" {print $1}')"
    job = watched(
        installed, ground / "killed", f"{FIRST} || exit 0; kill -KILL {scripts}; {SAVES}", retries=1, site=STRICT
    )
    with cron(job):
        wait_until(has_ended(job), f"the end of {job.name}", LONGEST)
    assert not (job.path / "attempts/0/result.json").exists()
    check("none: script killed", job, "SUCCEEDED", 0, 2)


@chaos
def test_next_attempt_is_submitted_before_the_time_limit(jobs: dict[str, Watched]) -> None:
    job = jobs["timeout-retried"]
    wait_until((job.path / "attempts/1/result.json").exists, f"attempt 1 of {job.name}", LONGEST)
    assert "attempt 2 has been submitted" in log_of(job)
    shown = check("none: time limit, onTimeout", job, "SUCCEEDED", 0, 2)
    assert [attempt["exit_code"] for attempt in shown["attempts"]] == [-1004]


@chaos
@pytest.mark.parametrize("name", [f"{call} {number}" for call, number in KILLS] + ["sbatch before", "sbatch after"])
def test_a_monitor_that_is_killed_at_the_end_of_an_attempt(
    killed: dict[str, tuple[Watched, Future[None]]], name: str
) -> None:
    """The next `monitor --once` goes on where it stopped."""
    job, waiting = killed[name]
    waiting.result(LONGEST)
    assert "paislurm: the monitor was ended: cron or scrontab must do the rest" in log_of(job)
    check(f"none: killed, {name}", job, "FAILED", 255, 2)


@chaos
@pytest.mark.exclusive
def test_cron_submits_the_retry_after_a_controller_outage(installed: Cluster, ground: Path) -> None:
    """The script's own sbatch has no answer; cron's has one, when the controller is back."""
    job = watched(installed, ground / "outage", "sleep 3; exit 1", retries=1, site=STRICT)
    job.begun()
    installed.stop_daemon("slurmctld")
    try:
        wait_until(lambda: "attempt 2" in log_of(job) or "the monitor" in log_of(job), "a step in vain", LONGEST)
    finally:
        installed.start_daemon("slurmctld")
    with cron(job):
        wait_until(has_ended(job), f"the end of {job.name}", LONGEST)
    check("none: slurmctld stopped", job, "FAILED", 255, 2)


@chaos
@pytest.mark.exclusive
def test_retry_excludes_a_lost_node(installed: Cluster, ground: Path) -> None:
    """Of a node beside the batch node the script knows, and submits the next attempt; of the batch node, cron does."""
    command = f"{FIRST} || exit 0; echo ready; {SAVES}"
    where: dict[str, Any] = {"tasks": 2, "cpus": 9, "failed": 2, "partitions": profile("normal"), "site": STRICT}
    jobs = {name: watched(installed, ground / name, command, **where) for name in ("peer", "batch")}
    for job in jobs.values():
        job.begun()
        logs = [job.path / f"attempts/0/logs/0-w/{index}.stdout.log" for index in (0, 1)]
        wait_until(partial(all_written, logs), f"{job.name} to start")
    lost = {name: job.leading_node() for name, job in jobs.items()}
    (lost["peer"],) = set(jobs["peer"].nodes()) - {lost["peer"]}
    for node in lost.values():
        installed.cut(node)
    try:
        wait_until(partial(is_retried, jobs["peer"]), "the end of attempt 0 with a lost node", LONGEST)
        with cron(jobs["batch"]):
            wait_until(partial(is_retried, jobs["batch"]), "the end of attempt 0 without its batch node", LONGEST)
    finally:
        with ThreadPoolExecutor() as pool:
            list(pool.map(installed.restore, lost.values()))
    for name, job in jobs.items():
        with cron(job):
            wait_until(has_ended(job), f"the end of {job.name}", LONGEST)
        (attempt,) = check(f"none: {name} node lost", job, "SUCCEEDED", 0, 2)["attempts"]
        assert (attempt["exit_code"], attempt["blamed_nodes"]) == (-1001, [lost[name]])
    assert "attempt 2 has been submitted" in log_of(jobs["peer"])


def all_written(files: list[Path]) -> bool:
    return all(file.exists() and file.read_text() for file in files)


def is_retried(job: Watched) -> bool:
    return any(record["kind"] == "retry" for record in job.journal())
