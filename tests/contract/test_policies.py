"""What ends a job, with which outcome, and what is tried again."""

from __future__ import annotations

import re
import time
from functools import partial
from typing import TYPE_CHECKING

from tests.cluster.jobs import BOTH, role, states
from tests.cluster.processes import wait_until
from tests.contract.site import LONGEST
from tests.left_out import not_asked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

QUICK = "retry: {maxTransientRetries: 2}\nmonitor: {background: false, maxPollInterval: 2}\n"
FIRST = '[ "$FC_FRAMEWORK_ATTEMPT_ID" = 0 ]'


@BOTH
def test_workers_complete_the_job_and_the_server_is_stopped(site: Site, folder: Path, layout: str) -> None:
    server = "trap 'echo saved; exit 0' TERM; echo ready >ready; while :; do sleep 600 & wait; done"
    worker = "until [ -s ../../0-ps/0/ready ]; do sleep 0.1; done"
    roles = role("ps", 1, server) + role("worker", 2, worker, succeeded=2)
    job = site.submit(folder, roles, f"{{slurm: {{layout: {layout}}}}}")
    code, result = job.ended()
    assert (code, result["outcome"], result["trigger"]["completion_rule"]) == (0, "succeeded", "C3")
    assert states(result) == ["ps-0 STOPPED", "worker-0 SUCCEEDED", "worker-1 SUCCEEDED"]
    # The result is there before the others have ended.
    job.wait_for("saved", "0-ps/0")
    if site.cluster:
        rows = partial(site.cluster.sacct, result["job_id"])
        # The accounting is late.
        wait_until(lambda: {row["State"] for row in rows() if "." not in row["JobID"]} == {"COMPLETED"}, "its states")


def test_command_killed_from_outside_reports_status_137(site: Site, folder: Path) -> None:
    job = site.submit(folder, role("w", 1, "echo $$ >pid; echo ready; sleep 600"))
    job.wait_for("ready", "0-w/0")
    assert job.paislurm("exec", job.name, "w-0", "--", "sh", "-c", "kill -KILL $(cat pid)").returncode == 0
    assert job.over()[:2] == ("FAILED", 137)


def test_a_failed_job_is_retried_in_a_fresh_attempt(site: Site, folder: Path) -> None:
    """By commands that look at it, with no monitor in the background: the first status takes the step."""
    job = site.submit(folder, role("w", 2, f"! {FIRST} || exit 7"), settings=QUICK, retries=1)
    code, result = job.ended(attempt=1)
    assert (code, result["outcome"]) == (0, "succeeded")
    assert job.over()[:2] == ("SUCCEEDED", 0)
    assert [attempt["exit_code"] for attempt in job.status()["attempts"]] == [255]


def test_the_monitor_in_the_background_retries_and_ends(site: Site, folder: Path) -> None:
    job = site.submit(folder, role("w", 1, f"! {FIRST} || kill -KILL $$"), settings="retry: {maxTransientRetries: 1}\n")
    code, result = job.ended(attempt=1)
    assert (code, result["outcome"]) == (0, "succeeded")


def test_monitor_once_reports_each_state_until_the_end(site: Site, folder: Path) -> None:
    job = site.submit(folder, role("w", 1, "exit 3"), settings=QUICK)
    state, line = "", rf"\S+ \S+ {site.user}~{job.name}: (WAITING|RUNNING|FAILED) attempt 1 job \d+(: .*)?\n"
    while state != "FAILED":
        done = job.paislurm("monitor", "--once")
        said = re.fullmatch(line, done.stderr)
        assert said, done.stderr
        assert done.returncode == 0
        state = said[1]
    shown = job.status()
    assert (shown["state"], shown["exit_code"]) == ("FAILED", 255)


@BOTH
def test_attempts_submit_their_retries_without_a_monitor(site: Site, folder: Path, layout: str) -> None:
    """No command is called until the last attempt is over; the second retry is to wait, and Slurm waits for it."""
    killed = '[ "$FC_FRAMEWORK_ATTEMPT_ID" = 2 ] || kill -KILL $$'
    roles = role("w", 1, killed) + role("v", 1, "sleep 1")
    job = site.submit(folder, roles, f"{{slurm: {{layout: {layout}}}}}", settings="monitor: none\n")
    wait_until((job.attempt(2) / "result.json").exists, f"the third attempt of {job.name}", LONGEST)
    assert job.over()[:2] == ("SUCCEEDED", 0)
    assert [attempt["exit_code"] for attempt in job.status()["attempts"]] == [137, 137]
    assert not (job.home / "monitor/monitor.log").exists()


def test_cancelled_scrontab_entry_is_reported_as_overdue(site: Site, folder: Path) -> None:
    """Slurm puts a word before an entry whose job was cancelled, and commands say so when a round is overdue."""
    assert site.administrator
    if site.run("which", "scrontab").returncode:
        not_asked("Debian 12 has Slurm without scrontab")
    job = site.submit(folder, role("w", 1, "echo ready; sleep 600"), settings="monitor: none\n")
    program = site.run("which", "paislurm").stdout.strip()
    call = " ".join(["/usr/bin/env", *(f"{name}={value}" for name, value in job.env.items()), program])
    table = site.write(folder, "table", f"#SCRON --mem=200 --output=/dev/null\n* * * * * {call} monitor --once\n")
    assert site.run("scrontab", str(table)).returncode == 0
    monitor_runs = job.home / "monitor/runs.log"
    wait_until(lambda: "scrontab" in monitor_runs.read_text(), "scrontab to call a monitor", LONGEST)
    assert job.paislurm("status", job.name).stderr == ""
    number = site.run("squeue", "--me", "--noheader", "--format=%i", "--name=/usr/bin/env").stdout.split()
    assert site.run("scancel", "--cron", *number).returncode == 0
    # As if that had been long ago.
    monitor_runs.write_text(f"{int(time.time()) - 7300} scrontab\n")
    wait_until(lambda: "#DISABLED" in site.run("scrontab", "-l").stdout, "the entry to be taken away", LONGEST)
    said = job.paislurm("status", job.name).stderr
    overdue = r"warning: no `paislurm monitor --once` has run for 2 h( \d min)?: its scrontab entry was cancelled;"
    assert re.search(overdue, said), said
    assert site.run("scrontab", "-r").returncode == 0
    assert job.paislurm("cancel", job.name).returncode == 0


@BOTH
def test_prerequisites_and_secrets(site: Site, folder: Path, layout: str) -> None:
    """A script exports a variable, which the command has, and a secret is in no file and no record but its own."""
    file = site.write(
        folder,
        "with-secret.yaml",
        f"""protocolVersion: 2
name: with-secret-{layout}
type: job
secrets: {{token: "it's <a> secret"}}
prerequisites:
  - {{name: plain, type: dockerimage, uri: debian}}
  - name: prepare
    type: script
    callbacks:
      - {{event: containerStart, commands: [export PREPARED=yes, touch made]}}
      - {{event: taskSucceeds, commands: [echo done]}}
taskRoles:
  w:
    instances: 2
    dockerImage: plain
    prerequisites: [prepare]
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    commands:
      - echo "$PREPARED" $(ls made) "<% $secrets.token %>" | tr a-z A-Z
extras: {{slurm: {{layout: {layout}}}}}
""",
    )
    job = site.submit(folder, "", file=file)
    code, _ = job.ended()
    assert code == 0, job.log("0-w/0", "stderr.log")
    assert [job.log(f"0-w/{index}") for index in (0, 1)] == ["YES MADE IT'S <A> SECRET\n"] * 2
    for path in job.attempt().rglob("*"):
        assert not path.is_file() or b"it's <a> secret" not in path.read_bytes(), path
    assert not list((job.path / "secrets").glob("*"))
