"""A site whose rule gives each job another name and another comment: jobs are known by their scripts."""

from __future__ import annotations

import json
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.children import child
from tests.cluster.instance import ALICE
from tests.cluster.jobs import BOTH, ONE_ATTEMPT, role
from tests.cluster.kinds import KINDS
from tests.cluster.processes import wait_until
from tests.contract.site import LONGEST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Job, Site

KIND = KINDS["renames"]
PROFILE = """\
partitions:
  normal: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}]}
  closed: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}]}
defaultPartition: normal
time: {grace: 5, killWait: 5}
"""
RETRIED = ONE_ATTEMPT.replace("retry: {maxTransientRetries: 0}\n", "")
ROLES = role("a", 1, "echo up; sleep infinity") + role("b", 1, "echo up; sleep infinity")
WAITS = "{slurm: {layout: LAYOUT, partition: closed}}"
NO_ACCOUNTS = "#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2\nexit 1\n"
CUT_OFF = '#!/bin/sh\n/usr/bin/sbatch "$@" >/dev/null\n'
"""An sbatch whose answer is lost."""
LATE = '#!/bin/sh\ntouch "$0.asked"\nuntil [ -e "$0.go" ]; do sleep 0.1; done\nexec /usr/bin/scancel "$@"\n'
"""A scancel that reaches the controller late."""


def programs(site: Site, folder: Path, **texts: str) -> dict[str, str]:
    """Return an environment with these programs first on PATH."""
    for name, text in texts.items():
        site.write(folder, name, text).chmod(0o755)
    return {"PATH": f"{folder}:{site.environment()['PATH']}"}


def slurm_jobs(job: Job) -> list[str]:
    """Return the states of all Slurm jobs of a job, one for each; all have the site's name and comment."""
    rows = job.site.run("squeue", "--noheader", "--states=all", "--format=%i|%T|%j|%k|%Z").stdout.splitlines()
    own = [row.split("|") for row in rows if row.endswith(f"|{job.path}")]
    assert all(name.startswith("x-") and comment.startswith("site:") for _, _, name, comment, _ in own)
    return [state for number, state, *_ in own if not number.partition("+")[2].strip("0")]


@BOTH
@pytest.mark.parametrize("accounts", [True, False], ids=["accounts", "no accounts"])
def test_a_waiting_job_is_submitted_once_and_cancelled(site: Site, folder: Path, layout: str, accounts: bool) -> None:
    env = {} if accounts else programs(site, folder, sacct=NO_ACCOUNTS)
    job = site.submit(folder, ROLES, WAITS.replace("LAYOUT", layout), env=env)
    for _ in range(3):
        assert job.paislurm("monitor", "--once").returncode == 0
        assert job.status()["state"] == "WAITING"
    assert slurm_jobs(job) == ["PENDING"]
    done = job.paislurm("cancel", job.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert job.over() == ("STOPPED", -210, f"the job was cancelled by {ALICE}")
    wait_until(lambda: slurm_jobs(job) == ["CANCELLED"], "Slurm to show the cancel")


@BOTH
def test_a_running_job_is_cancelled(site: Site, folder: Path, layout: str) -> None:
    job = site.submit(folder, ROLES, f"{{slurm: {{layout: {layout}}}}}")
    job.wait_for("up", "0-a/0", "1-b/0")
    assert job.status()["state"] == "RUNNING"
    assert job.paislurm("cancel", job.name).returncode == 0
    assert job.over()[:2] == ("STOPPED", -210)
    wait_until(lambda: slurm_jobs(job) == ["CANCELLED"], "Slurm to show the cancel")


def test_a_retry(site: Site, folder: Path) -> None:
    text = role("w", 1, f"[ -e {folder}/again ] || {{ touch {folder}/again; exit 1; }}")
    job = site.submit(folder, text, settings=RETRIED, retries=1)
    assert job.over()[:2] == ("SUCCEEDED", 0)
    assert job.status()["retries"] == 1
    assert sorted(slurm_jobs(job)) == ["COMPLETED", "FAILED"]


@BOTH
def test_what_a_rule_replaces_and_prints_is_shown(site: Site, folder: Path, layout: str) -> None:
    job = site.described(folder, "moved", ROLES, f"{{slurm: {{layout: {layout}, time: 90}}}}")
    done = job.paislurm("submit", "moved.yaml")
    assert (done.returncode, done.stderr.count("note from sbatch: NOTE: jobs over an hour run in partition long.")) == (
        0,
        1,
    )
    job.wait_for("up", "0-a/0", "1-b/0")
    shown = json.loads(job.paislurm("status", "--json", job.name).stdout)
    assert (shown["partition"], shown["account"], shown["time_limit"]) == ("long", "extra", 7200)
    assert shown["replaced_options"] == {"partition": "normal", "time": "01:30:00"}
    text = job.paislurm("status", job.name).stdout
    for row in ("long (requested: normal)", "02:00:00 (requested: 01:30:00)", "NOTE: jobs over an hour run in"):
        assert row in text
    assert job.paislurm("cancel", job.name).returncode == 0
    assert job.over()[:2] == ("STOPPED", -210)


@pytest.mark.parametrize("accounts", [True, False], ids=["accounts", "no accounts"])
def test_a_job_whose_submit_was_cut_off_is_found(site: Site, folder: Path, accounts: bool) -> None:
    """It is one copy, and it can be cancelled."""
    job = site.described(folder, "cut", ROLES, WAITS.replace("LAYOUT", "het"))
    job.more = programs(site, folder, sbatch=CUT_OFF, **({} if accounts else {"sacct": NO_ACCOUNTS}))
    assert job.paislurm("submit", "cut.yaml").returncode == 6
    assert job.paislurm("monitor", "--once").returncode == 0
    assert job.status()["state"] == "WAITING"
    assert job.number.isdigit()
    assert job.paislurm("cancel", job.name).returncode == 0
    assert job.over()[:2] == ("STOPPED", -210)
    wait_until(lambda: slurm_jobs(job) == ["CANCELLED"], "Slurm to show the cancel")


@pytest.mark.exclusive
def test_a_cancel_spares_the_job_that_has_got_the_number(site: Site, folder: Path) -> None:
    """The controller dies between the poll and scancel, has lost the job, and gives its number to the user's next."""
    cluster = site.administrator
    env = programs(site, folder, scancel=LATE)
    job = site.submit(folder, ROLES, WAITS.replace("LAYOUT", "shared"), RETRIED, env=env)
    submitted = time.time()
    command, pipe = site.command(("paislurm", "cancel", job.name), cwd=job.folder, env=job.env), subprocess.PIPE
    other = ("sbatch", "--parsable", "--hold", "--job-name=other", "--wrap=true")
    try:
        with child(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as cancel:
            wait_until((folder / "scancel.asked").exists, "scancel", LONGEST)
            cluster.lose_state()
            # Slurm's times are whole seconds: a job of the same second could be the one that is cancelled.
            wait_until(lambda: time.time() > submitted + 1, "the next second")
            assert job.number in (site.run(*other).stdout.strip() for _ in range(int(job.number)))
            (folder / "scancel.go").touch()
            said, _ = cancel.communicate(timeout=LONGEST)
        assert (cancel.returncode, "another job has its number now: if the cancel has" in said) == (0, True), said
        states = site.run("squeue", "--noheader", "--states=all", f"--jobs={job.number}", "--format=%j %T").stdout
        assert states == "x-other PENDING\n"
        assert job.over()[:2] == ("STOPPED", -210)
    finally:
        cluster.cancel_all()
        cluster.wait_idle()
