"""Groups of jobs that differ by parameters, and jobs that begin after others, whatever those need of retries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cluster.jobs import role
from tests.contract.site import Job
from tests.contract.test_policies import FIRST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

SETTINGS = "retry: {maxTransientRetries: 2}\nmonitor: {maxPollInterval: 2}\n"
FAST = "monitor: {background: false, maxPollInterval: 2}\n"


def done(job: Job, *words: str, code: int = 0) -> str:
    said = job.paislurm(*words)
    assert said.returncode == code, said.stderr
    return said.stdout


def test_a_sweep_runs_and_is_submitted_once(site: Site, folder: Path) -> None:
    command = "sleep 1; echo lr <% $parameters.lr %> seed <% $parameters.seed %>"
    slurm = "{slurm: {result: 'lr (\\S+)'}}\nparameters: {lr: 1, seed: 1}"
    job = site.described(folder, "swept", role("w", 1, command), slurm, FAST)
    sweep = ("submit", "swept.yaml", "--sweep", "lr=0.1,0.01", "--sweep", "seed=1..2")
    assert len(done(job, *sweep).splitlines()) == 4
    call_log = json.loads(done(job, "monitor", "--calls", "--json"))
    calls = {each["program"]: each["calls"] for each in call_log["programs"]}
    assert (calls["sbatch"], calls.get("squeue", 0)) == (4, 0), "no job is looked at that is not there"
    said = job.paislurm(*sweep, "--wait", "--json")
    again = json.loads(said.stdout)
    assert (said.returncode, again["jobs"], len(again["present"])) == (0, [], 4)
    assert said.stderr.endswith("group swept: 4 jobs, 4 succeeded\n")
    rows = json.loads(done(job, "list", "--group", "swept", "--json"))["jobs"]
    assert [row["result"] for row in rows] == [0.01, 0.01, 0.1, 0.1]
    assert [(row["sweep"]["lr"], row["sweep"]["seed"], row["state"], row["exit_code"]) for row in rows] == [
        ("0.01", "1", "SUCCEEDED", 0),
        ("0.01", "2", "SUCCEEDED", 0),
        ("0.1", "1", "SUCCEEDED", 0),
        ("0.1", "2", "SUCCEEDED", 0),
    ]
    assert len({row["job_id"] for row in rows}) == 4
    one = Job(site, folder, job.file, "swept-lr0_01-seed2")
    assert one.log("0-w/0") == "lr 0.01 seed 2\n"


def test_dependent_job_starts_after_its_dependency_is_retried(site: Site, folder: Path) -> None:
    """The monitor that `submit` leaves behind submits it; nobody else looks until it has ended."""
    go = folder / "go"
    command = f"! {FIRST} || kill -KILL $$; until [ -e {go} ]; do sleep 0.1; done"
    job = site.described(folder, "first", role("w", 1, command), settings=SETTINGS)
    done(job, "submit", "first.yaml")
    after = site.described(folder, "second", role("w", 1, "true"), settings=SETTINGS)
    assert " waits and will be submitted when " in done(job, "submit", "second.yaml", "--after", "first")
    go.touch()
    code, _ = after.ended()
    assert code == 0
    ends = [Job(site, folder, job.file, name).status() for name in ("first", "second")]
    assert [(end["state"], end["attempt"]) for end in ends] == [("SUCCEEDED", 1), ("SUCCEEDED", 0)]
    assert ends[0]["ended_at"] <= ends[1]["submitted_at"]


def test_dependent_of_a_failed_job_is_never_submitted(site: Site, folder: Path) -> None:
    go = folder / "go"
    waits = role("w", 1, f"until [ -e {go} ]; do sleep 0.1; done; exit 3")
    first = site.described(folder, "failing", waits, settings=FAST)
    done(first, "submit", "failing.yaml")
    waiting = site.described(folder, "behind", role("w", 1, "true"), settings=FAST)
    done(first, "submit", "behind.yaml", "--after", "failing")
    done(first, "submit", "behind.yaml", "--suffix", "-any", "--after", "failing:ended")
    assert waiting.status()["state"] == "WAITING"
    go.touch()
    state, code, reason = waiting.over()
    assert (state, code, waiting.status()["job_id"]) == ("STOPPED", -210, None)
    assert reason.startswith("never submitted: it was to start after ")
    assert Job(site, folder, first.file, "behind-any").over()[:2] == ("SUCCEEDED", 0)
