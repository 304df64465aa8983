"""The same on every backend that reaches a Slurm: `backends.py` has which, and the second table what held where."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest

from paislurm.translator.planning.slurm.hazards import hazards
from tests.cluster.instance import TWO_USERS
from tests.cluster.jobs import BOTH, role
from tests.cluster.processes import wait_until
from tests.contract.backends import WAYS, Way

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tests.contract.site import Job, Site

SAVES = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 600 & wait; done"
ASK = """
import json, sys

import msgspec
from paislurm.translator.app.session import Session

name, method, argument = sys.argv[1:]
print(msgspec.json.encode(getattr(Session().backend(name), method)(json.loads(argument))).decode())
"""
"""Calls a method of the backend's object, as commands do."""

ALL_WAYS = WAYS
MEDIATED = [way for way in WAYS if way.backend != "slurm"]
"""What something of its own stands between, which can be gone."""


def submit(site: Site, folder: Path, way: Way, roles: str, extras: str = "", **more: Any) -> Job:
    job = site.submit(folder, roles, extras, way=way, **more)
    assert job.status()["backend"] == way.backend
    return job


def asked(job: Job, way: Way, method: str, argument: Any) -> subprocess.CompletedProcess[str]:
    argv = ("python", "-c", ASK, way.backend, method, json.dumps(argument))
    return job.site.run(*argv, cwd=job.folder, env=job.env, host=job.host)


def call(job: Job, way: Way, method: str, argument: Any) -> Any:
    """Return what the backend's own object returns; it has nothing to say beside."""
    done = asked(job, way, method, argument)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


def observed(job: Job, way: Way) -> dict[str, Any]:
    found: dict[str, Any] = call(job, way, "observe", [job.number])
    return found[job.number]


def final(job: Job, way: Way) -> dict[str, Any]:
    """Return what the backend says when nothing can change any more."""
    seen: dict[str, Any] = {}

    def is_final() -> bool:
        seen.update(observed(job, way))
        return bool(seen["final"])

    wait_until(is_final, "the last word")
    return seen


def test_followed_to_success(site: Site, folder: Path, way: Way) -> None:
    job = submit(site, folder, way, role("w", 2, "echo task $PAI_TASK_INDEX"))
    followed = job.paislurm("logs", "-f", job.name)
    assert followed.returncode == 0, followed.stderr
    assert {line.rpartition("task ")[2] for line in followed.stdout.splitlines()} == {"0", "1"}
    code, result = job.ended()
    assert (code, result["outcome"], job.status()["state"]) == (0, "succeeded", "SUCCEEDED")
    seen = final(job, way)
    assert (seen["state"], seen["status"], seen["signal"]) == ("COMPLETED", 0, 0)
    assert seen["submitted"] <= seen["started"] <= seen["ended"]


def test_submit_and_wait(site: Site, folder: Path, way: Way) -> None:
    """What a user calls, in one command."""
    job = submit(site, folder, way, role("w", 1, "true"))
    again = job.paislurm("submit", "--wait", *way.words, "--suffix=-2", "job.yaml")
    assert again.returncode == 0, again.stderr


def test_failed_task_keeps_its_exit_status(site: Site, folder: Path, way: Way) -> None:
    """One of 128 or more is the task's; the batch script has a small one of its own, which Slurm keeps."""
    job = submit(site, folder, way, role("w", 1, "exit 137"))
    code, result = job.ended()
    assert (code, result["outcome"], result["tasks"][0]["exit_status"]) == (1, "failed", 137)
    assert job.over()[:2] == ("FAILED", 137)
    seen = final(job, way)
    assert (seen["state"], seen["signal"]) == ("FAILED", 0)
    assert 0 < seen["status"] < 128


def test_an_exit_status_of_128_and_more(site: Site, folder: Path, way: Way) -> None:
    """Of a script that is none of ours: sacct of some Slurms loses 128."""
    job = submit(site, folder, way, role("w", 1, "true"))
    job.ended()
    sent = site.run("sbatch", "--parsable", "--output=/dev/null", "--wrap=exit 137", cwd=job.folder)
    number = sent.stdout.strip()
    wait_until(lambda: call(job, way, "observe", [number])[number]["final"], "the last word")
    seen = call(job, way, "observe", [number])[number]
    is_lost = way.backend == "slurm" and any(hazard.name == "exit-codes" for hazard in hazards(site.slurm))
    assert (seen["state"], seen["status"], seen["signal"]) == ("FAILED", 9 if is_lost else 137, 0)


def test_job_is_readable_and_cancellable_without_its_backend(site: Site, folder: Path, way: Way) -> None:
    job = submit(site, folder, way, role("w", 1, SAVES))
    job.wait_for("ready", "0-w/0")
    gone = dataclasses.replace(job, more={})
    # An answer of the last seconds would be shown as it is.
    (job.home / "monitor" / way.backend / "answer.json").unlink(missing_ok=True)
    shown = gone.paislurm("status", "--json", "--", job.name)
    assert json.loads(shown.stdout)["backend_state"] == "RUNNING"
    (words,) = [line for line in shown.stderr.splitlines() if "cannot be used" in line]
    assert words.endswith("; using Slurm's programs instead")
    assert gone.paislurm("cancel", job.name).returncode == 0
    assert gone.over()[0] == "STOPPED"


test_job_is_readable_and_cancellable_without_its_backend.ways = MEDIATED


def test_a_heterogeneous_job(site: Site, folder: Path, way: Way) -> None:
    """It is one job, whose components are all there, on nodes of their own."""
    go = folder / "go"
    waits = f"echo ready; until [ -e {go} ]; do sleep 0.1; done"
    roles = role("a", 1, "sleep infinity") + role("b", 2, waits, succeeded=2)
    job = submit(site, folder, way, roles, "{slurm: {layout: het}}")
    job.wait_for("ready", "1-b/0", "1-b/1")
    seen = observed(job, way)
    assert (seen["state"], seen["final"], seen["status"]) == ("RUNNING", False, None)
    go.touch()
    assert job.ended()[0] == 0
    seen = final(job, way)
    assert (seen["state"], seen["status"]) == ("COMPLETED", 0)
    assert len(seen["nodes"].split(",")) >= 2


@BOTH
def test_cancel(site: Site, folder: Path, way: Way, layout: str) -> None:
    """All components end, and their tasks are told before."""
    job = submit(site, folder, way, role("a", 1, SAVES) + role("b", 1, SAVES), f"{{slurm: {{layout: {layout}}}}}")
    job.wait_for("ready", "0-a/0", "1-b/0")
    call(job, way, "cancel", job.number)
    state, code, reason = job.over()
    assert (state, code) == ("STOPPED", -210)
    assert f"cancelled by {site.user}" in reason
    saved = [job.log(task) for task in ("0-a/0", "1-b/0")]
    # Where processes are tracked by their parents alone, srun hears of the job's end, too, and kills its tasks at once.
    assert saved == ["ready\nsaved\n"] * 2 or (site.tracks_by_parents and all(log.startswith("ready") for log in saved))
    assert final(job, way)["state"] == "CANCELLED"
    call(job, way, "cancel", job.number)


def test_pending_job_shows_its_reason_and_can_be_cancelled(site: Site, folder: Path, way: Way) -> None:
    """26.05 never numbers the components of a job that has not started in its accounts."""
    roles = role("a", 1, "true") + role("b", 1, "true")
    job = submit(site, folder, way, roles, "{slurm: {layout: het, options: [--begin=now+1hour]}}")
    wait_until(lambda: observed(job, way)["reason"] == "BeginTime", "a reason")
    assert (job.status()["state"], job.status()["backend_state"]) == ("WAITING", "PENDING")
    assert job.paislurm("cancel", job.name).returncode == 0
    assert job.over()[0] == "STOPPED"


def test_a_pending_job_is_changed_and_held(site: Site, folder: Path, way: Way) -> None:
    site.require(TWO_USERS)
    job = submit(site, folder, way, role("w", 1, "true"), "{slurm: {options: [--begin=now+1hour]}}")
    done = job.paislurm("update", job.name, "--time", "7", "--hold")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: observed(job, way)["reason"] == "JobHeldUser", "the hold")
    shown = job.site.run("scontrol", "--oneliner", "show", "job", job.number, host=job.host).stdout
    assert " TimeLimit=00:07:00 " in shown
    assert job.paislurm("update", job.name, "--release").returncode == 0
    wait_until(lambda: observed(job, way)["reason"] != "JobHeldUser", "the release")
    assert job.paislurm("cancel", job.name).returncode == 0
    assert job.over()[0] == "STOPPED"


def test_a_tag_finds_the_job(site: Site, folder: Path, way: Way) -> None:
    job = submit(site, folder, way, role("w", 1, SAVES))
    records = [json.loads(line) for line in (job.path / "journal.jsonl").read_text().splitlines()]
    (tag,) = {record["tag"] for record in records if "tag" in record}
    assert call(job, way, "find", [tag, "no-such-tag"]) == {tag: job.number}
    job.wait_for("ready", "0-w/0")
    job.paislurm("cancel", job.name)
    job.over()
    assert call(job, way, "find", [tag]) == {tag: job.number}


def test_unknown_job_id_is_ignored(site: Site, folder: Path, way: Way) -> None:
    job = submit(site, folder, way, role("w", 1, "true"))
    job.ended()
    assert call(job, way, "observe", ["9999999"]) == {}
    assert set(call(job, way, "observe", ["9999999", job.number])) == {job.number}
    call(job, way, "cancel", "9999999")


def test_only_existing_nodes_are_known(site: Site, folder: Path, way: Way) -> None:
    job = submit(site, folder, way, role("w", 1, "true"))
    assert sorted(call(job, way, "known_nodes", ["n1", "nowhere", "n2"])) == ["n1", "n2"]
    job.ended()


@pytest.fixture
def drained(site: Site) -> Iterator[str]:
    """A node that takes no jobs."""
    node, cluster = "n8", site.administrator
    cluster.admin(["scontrol", "update", f"nodename={node}", "state=drain", "reason=being looked at"])
    yield node
    cluster.admin(["scontrol", "update", f"nodename={node}", "state=resume"])


@pytest.mark.disruptive
def test_drained_node_is_reported_with_its_reason(site: Site, folder: Path, way: Way, drained: str) -> None:
    job = submit(site, folder, way, role("w", 1, "true"))
    assert call(job, way, "unavailable_nodes", "n[1-4,8]").get(drained) == "being looked at"
    assert "n1" not in call(job, way, "unavailable_nodes", "n1")
    job.ended()


@pytest.mark.exclusive
def test_job_keeps_running_during_a_controller_outage(site: Site, folder: Path, way: Way) -> None:
    """What it does not say is no end; the job goes on meanwhile."""
    cluster = site.administrator
    job = submit(site, folder, way, role("w", 1, SAVES))
    job.wait_for("ready", "0-w/0")
    number = job.number
    cluster.stop_daemon("slurmctld")
    try:
        assert "UnreachableError" in asked(job, way, "observe", [number]).stderr
        wait_until(lambda: not job.status()["backend_reachable"], "an outage to be seen")
        assert job.status()["state"] == "RUNNING"
    finally:
        cluster.start_daemon("slurmctld")
    wait_until(lambda: job.status()["backend_reachable"], "an answer")
    assert job.status()["state"] == "RUNNING"
    assert job.number == number
    job.paislurm("cancel", job.name)
    assert job.over()[:2] == ("STOPPED", -210)


@pytest.mark.exclusive
def test_job_state_is_not_final_without_accounting(site: Site, folder: Path, way: Way) -> None:
    cluster = site.administrator
    cluster.stop_daemon("slurmdbd")
    try:
        job = submit(site, folder, way, role("w", 1, "exit 4"))
        assert job.over()[:2] == ("FAILED", 255)
        seen = observed(job, way)
        assert (seen["state"], seen["final"]) == ("FAILED", False)
    finally:
        cluster.start_daemon("slurmdbd")
    assert final(job, way)["state"] == "FAILED"
