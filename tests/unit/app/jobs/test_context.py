"""What the backends are told of this user's jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.session import Session

from ...monitor.jobs import CREATED, INTENT, SUBMITTED, job_folder
from ..asked import Asked

TWO = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH hetjob\n#SBATCH --nodes=2\ntrue\n"


@pytest.fixture
def jobs(surroundings: Path) -> Path:
    """Make a job 7 of Slurm, of two components, and a job 7 of the local backend, of one."""
    slurm = job_folder(surroundings, CREATED, INTENT, SUBMITTED, name="alice~demo")
    slurm.script(0).write_text(TWO, encoding="utf-8")
    records = (replace(CREATED, backend="local"), INTENT, replace(SUBMITTED, backend="local", job="here"))
    local = job_folder(surroundings, *records, name="alice~here")
    local.script(0).write_text("#!/bin/bash\ntrue\n", encoding="utf-8")
    return surroundings


def test_components_are_counted_in_the_script_of_the_job(jobs: Path) -> None:
    assert (Session()._components("slurm", JobId("7")), Session()._components("local", JobId("7"))) == (2, 1)
    assert Session()._components("slurm", JobId("8")) == 1
    (jobs / "alice~demo" / "attempts" / "0" / "job.sbatch").unlink()
    assert Session()._components("slurm", JobId("7")) == 1


@pytest.mark.usefixtures("jobs")
def test_the_backend_asks_for_the_components_of_a_purged_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    head = "JobID|JobName|State|ExitCode|Submit|Start|End|NodeList|Comment|Reason"
    answers = {"squeue": "", "sacct": f"{head}\n7|7|FAILED|3:0|10|20|30|n1||None\n"}
    for program, answer in answers.items():
        (programs / program).write_text(f"#!/bin/sh\nprintf '%s' '{answer}'\n", encoding="utf-8")
        (programs / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    assert not Session().backend("slurm").observe([JobId("7")])[JobId("7")].final


@pytest.mark.usefixtures("jobs")
def test_messages_about_a_local_job_do_not_mention_slurm(asked: Asked) -> None:
    said = asked.jobs.status("alice~here")
    assert "the local backend does not know job 7, and the job left no result" in said.out
    assert "Slurm" not in said.out + said.err
