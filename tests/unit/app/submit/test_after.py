"""`submit --after`: what is said, what is kept, and what cannot be waited for."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from paislurm.translator.app.session import user_name
from paislurm.translator.state.job_folder import JobFolder
from tests.clock import clock

from ...cli.running import finish
from ...monitor.jobs import CREATED, ENDED, SUBMITTED, FakeBackend, job_folder
from ..asked import Asked

ME = user_name()


def test_a_job_waits_without_a_slurm_job_until_the_other_has_succeeded(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder, surroundings: Path
) -> None:
    asked.jobs.submit(job)
    said = asked.jobs.submit(job, suffix="-2", after=["demo"])
    assert (said.code, said.out) == (0, f"{ME}~demo-2 waits and will be submitted when {ME}~demo has succeeded\n")
    assert len(slurm.submissions) == 1
    status = asked.jobs.status("demo-2").out
    assert f"reason           it starts when {ME}~demo has succeeded\n" in status
    assert "slurm            not submitted\n" in status
    document = asked.jobs.status("demo-2").document[0]
    dependencies = [{"name": f"{ME}~demo", "until": "succeeded"}]
    assert [document[key] for key in ("state", "job_id", "dependencies")] == ["WAITING", None, dependencies]
    asked.jobs.submit(job, suffix="-2").ends(4, f"WAITING, it starts when {ME}~demo has succeeded")
    finish(demo, slurm)
    assert asked.jobs.status("demo-2").document[0]["job_id"] == "102"
    assert [submission.job for submission in slurm.submissions] == ["demo", "demo-2"]
    assert JobFolder(path=surroundings / f"{ME}~demo-2").history().first_tag == slurm.submissions[1].tag


def test_after_ignores_succeeded_jobs_and_refuses_failed_ones(
    asked: Asked, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    records = [replace(record, user=ME, happened_at=clock()) for record in (CREATED, SUBMITTED)]
    for name, state in (("good", "SUCCEEDED"), ("bad", "FAILED")):
        created = replace(records[0], job=name)
        job_folder(surroundings, created, *records[1:], replace(ENDED, state=state), name=f"{ME}~{name}")
    assert asked.jobs.submit(job, after=["good", "bad:ended"]).out == f"{ME}~demo is job 101\n"
    codes = [
        asked.jobs.submit(job, suffix="-2", after=["good", other]).code for other in ("bad", "nobody", "good:well")
    ]
    assert codes == [4, 5, 2]
    assert len(slurm.submissions) == 1


def test_jobs_of_other_users_are_refused_as_dependencies(
    asked: Asked, job: str, slurm: FakeBackend, surroundings: Path
) -> None:
    job_folder(surroundings, replace(CREATED, user="bob"), replace(SUBMITTED, user="bob"), name="bob~theirs")
    asked.jobs.submit(job, after=["bob~theirs"]).ends(4, "E584")
    assert slurm.submissions == []


def test_a_dry_run_names_the_dependencies(asked: Asked, job: str, slurm: FakeBackend) -> None:
    asked.jobs.submit(job)
    document = asked.jobs.submit(job, suffix="-2", dry_run=True, after=["demo"]).document
    assert (document["dry_run"], document["dependencies"]) == (True, [{"name": f"{ME}~demo", "until": "succeeded"}])
    assert len(slurm.submissions) == 1


def test_without_a_monitor_submit_says_what_submits_a_waiting_job(
    asked: Asked, job: str, slurm: FakeBackend, profile: Path
) -> None:
    profile.write_text(profile.read_text().replace("monitor: {background: false}", "monitor: none"))
    assert "--once" in asked.jobs.submit(job).err
    said = asked.jobs.submit(job, suffix="-2", after=["demo"])
    said.ends(0, "`paislurm monitor --once`, or a command that shows the job, submits it")
    assert len(slurm.submissions) == 1
