"""`submit`: everything or nothing, once, and never over a job that lives."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.cli import replacing
from paislurm.translator.cli.home import user_name
from paislurm.translator.monitoring.journal import read
from paislurm.translator.monitoring.records import Created, Intent, Submitted
from paislurm.translator.monitoring.store import JobFolder

from ..monitoring.jobs import FakeBackend, leave_result, observed
from .running import JOB, job_file

if TYPE_CHECKING:
    from .running import Runner


@pytest.fixture
def job(tmp_path: Path, profile: Path) -> str:
    assert profile
    return job_file(tmp_path)


@pytest.fixture
def folder(surroundings: Path) -> JobFolder:
    return JobFolder(path=surroundings / f"{user_name()}~demo")


def everything(jobs: Path) -> dict[str, bytes]:
    """Return all files below the job folders, with what is in them."""
    return {str(path.relative_to(jobs)): path.read_bytes() for path in jobs.rglob("*") if path.is_file()}


def finish(folder: JobFolder, slurm: FakeBackend, **result: object) -> None:
    """Let the last submitted job end."""
    leave_result(folder, **result)
    job_id = f"{100 + len(slurm.submissions)}"
    slurm.observations[JobId(job_id)] = observed("COMPLETED", final=True, job_id=job_id)


def test_a_job_gets_a_folder_and_a_journal(run: Runner, job: str, slurm: FakeBackend, folder: JobFolder) -> None:
    said = run("submit", job)
    assert (said.code, said.out) == (0, f"{user_name()}~demo is job 101\n")
    assert "paislurm logs -f demo" in said.err
    (submission,) = slurm.submissions
    assert (submission.script, submission.folder) == (folder.script(0), folder.path)
    assert (submission.attempt, submission.log) == (0, folder.batch_log(0))
    created, intent, submitted = read(folder.journal).records
    assert isinstance(created, Created)
    assert isinstance(intent, Intent)
    assert isinstance(submitted, Submitted)
    assert (intent.tag, submitted.job_id) == (submission.tag, "101")
    assert (folder.path / "job.yaml").read_text(encoding="utf-8") == JOB
    assert isinstance(json.loads((folder.path / "plan.json").read_bytes()), dict)
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in folder.path.parent.iterdir()) == [folder.name]


def test_the_intent_is_on_the_disk_before_the_backend_is_asked(
    run: Runner, job: str, slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: list[str] = []

    def submit(_: object) -> JobId:
        kinds.extend(type(record).__name__ for record in read(folder.journal).records)
        return JobId("9")

    monkeypatch.setattr(slurm, "submit", submit)
    assert run("submit", job).code == 0
    assert kinds == ["Created", "Intent"]


def test_as_json(run: Runner, job: str, slurm: FakeBackend, folder: JobFolder) -> None:
    assert slurm
    document = json.loads(run("submit", job, "--json").out)
    assert document["job"] == "demo"
    assert document["user"] == user_name()
    assert document["job_id"] == "101"
    assert document["folder"] == str(folder.path)
    assert document["backend"] == "slurm"
    assert document["dry_run"] is False


def test_a_dry_run_leaves_nothing(run: Runner, job: str, slurm: FakeBackend, surroundings: Path) -> None:
    said = run("submit", job, "--dry-run")
    assert said.code == 0
    assert "would be made" in said.err
    assert json.loads(run("submit", job, "--dry-run", "--json").out)["job_id"] is None
    assert not slurm.submissions
    assert not surroundings.parent.exists()


def test_a_refusal_leaves_nothing(run: Runner, job: str, slurm: FakeBackend, surroundings: Path) -> None:
    slurm.fails = "refuses"
    said = run("submit", job)
    assert said.code == 4
    assert "error E503: sbatch refuses --qos: no such qos\nhint: ask" in said.err
    assert list(surroundings.iterdir()) == []


def test_without_slurm_nothing_is_left(run: Runner, job: str, slurm: FakeBackend, surroundings: Path) -> None:
    slurm.fails = "missing"
    assert run("submit", job).code == 6
    assert list(surroundings.iterdir()) == []


def test_a_refusal_brings_the_finished_job_back(run: Runner, job: str, slurm: FakeBackend, folder: JobFolder) -> None:
    run("submit", job)
    finish(folder, slurm)
    assert "SUCCEEDED" in run("status", "demo").out
    before = everything(folder.path.parent)
    slurm.fails = "refuses"
    assert run("submit", job).code == 4
    assert everything(folder.path.parent) == before
    assert [path.name for path in folder.path.parent.iterdir()] == [folder.name]
    slurm.fails = ""
    assert run("submit", job).code == 0


def test_no_answer_keeps_the_intent_and_the_name(run: Runner, job: str, slurm: FakeBackend, folder: JobFolder) -> None:
    slurm.fails = "away"
    said = run("submit", job)
    assert said.code == 6
    assert "error E502: Slurm gives no answer: timed out" in said.err
    assert "`paislurm status demo` finds out" in said.err
    (tag,) = [record.tag for record in read(folder.journal).records if isinstance(record, Intent)]
    assert tag in said.err

    again = run("submit", job)
    assert (again.code, "error E513" in again.err) == (6, True)
    slurm.fails = ""
    assert run("submit", job).code == 4, "the first one may still be on its way"
    slurm.tags[tag] = JobId("33")
    slurm.observations[JobId("33")] = observed("PENDING", job_id="33")
    assert "job 33" in run("status", "demo").out
    assert run("submit", job).code == 4


def test_a_job_is_cancelled_of_which_nobody_knows_whether_it_was_taken(
    run: Runner, job: str, slurm: FakeBackend, folder: JobFolder
) -> None:
    slurm.fails = "away"
    run("submit", job)
    (tag,) = [record.tag for record in read(folder.journal).records if isinstance(record, Intent)]
    said = run("cancel", "demo")
    assert (said.code, "as soon as it is known" in said.out) == (0, True)
    slurm.fails = ""
    slurm.tags[tag] = JobId("33")
    slurm.observations[JobId("33")] = observed("PENDING", job_id="33")
    assert "STOPPING" in run("status", "demo").out
    assert slurm.cancelled == ["33"]
    run("status", "demo")
    assert slurm.cancelled == ["33"]


def test_a_living_job_keeps_its_name(run: Runner, job: str, slurm: FakeBackend, folder: JobFolder) -> None:
    run("submit", job)
    before = everything(folder.path.parent)
    said = run("submit", job)
    assert said.code == 4
    assert f"error E511: {folder.name} has not ended yet: WAITING, job 101" in said.err
    assert "--suffix" in said.err
    after = everything(folder.path.parent)
    assert {name: data for name, data in after.items() if "journal" not in name} == {
        name: data for name, data in before.items() if "journal" not in name
    }
    assert len(slurm.submissions) == 1
    assert run("submit", job, "--suffix", "-2").code == 0


def test_a_finished_job_makes_room(run: Runner, job: str, slurm: FakeBackend, folder: JobFolder) -> None:
    for number in range(3):
        assert run("submit", job).code == 0
        finish(folder, slurm, reason=f"run {number}")
    names = sorted(path.name for path in folder.path.parent.iterdir())
    assert names == [folder.name, f"{folder.name}.1", f"{folder.name}.2"]
    assert "run 0" in run("status", "demo.1").out
    assert "run 2" in run("status", "demo").out
    assert run("list").out.count("SUCCEEDED") == 1
    assert run("list", "--all").out.count("SUCCEEDED") == 3


def test_what_is_not_yet_supported_is_not_left_out_silently(
    run: Runner, tmp_path: Path, profile: Path, slurm: FakeBackend, surroundings: Path
) -> None:
    assert profile
    job = job_file(tmp_path, JOB + "extras:\n  slurm: {exportEnv: [HOME]}\n")
    said = run("submit", job)
    assert said.code == 4
    assert "error E514: the job asks for what is not yet supported" in said.err
    assert "W916 at " in said.err
    assert not surroundings.exists()
    assert "not yet supported" in run("check", job).out
    assert run("submit", job, "--allow-partial").code == 0
    assert len(slurm.submissions) == 1


def test_an_unknown_backend_is_wrong_usage(run: Runner, job: str, surroundings: Path) -> None:
    said = run("submit", job, "--backend", "cloud")
    assert said.code == 2
    assert "there is no backend 'cloud'" in said.err
    assert not surroundings.exists() or not list(surroundings.iterdir())


def test_a_job_id_that_cannot_be_written_down_is_found_again(
    run: Runner, job: str, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("paislurm.translator.monitoring.store.append", fails)
        said = run("submit", job)
    assert said.code == 0
    assert "cannot be written" in said.err
    assert "No space left" in said.err
    assert "job 101" in run("status", "demo").out
    assert len(slurm.submissions) == 1


def test_a_folder_that_is_no_job_is_not_touched(run: Runner, job: str, slurm: FakeBackend, folder: JobFolder) -> None:
    folder.path.mkdir(parents=True)
    (folder.path / "precious").write_text("x", encoding="utf-8")
    said = run("submit", job)
    assert (said.code, "holds no job" in said.err) == (4, True)
    assert (folder.path / "precious").exists()
    assert not slurm.submissions


def test_a_full_disk_leaves_nothing(
    run: Runner, job: str, slurm: FakeBackend, surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        from paislurm.translator.cli.main import main

        code = main(["submit", job])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert code == 4
    assert not slurm.submissions
    assert list(surroundings.iterdir()) == []
    assert run("submit", job).code == 0


def test_a_full_disk_brings_the_finished_job_back(
    run: Runner, job: str, slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("submit", job)
    finish(folder, slurm)
    run("status", "demo")
    before = everything(folder.path.parent)

    def fails(*_: object) -> None:
        raise OSError(122, "Disk quota exceeded", "somewhere")

    monkeypatch.setattr(replacing, "place", fails)
    said = run("submit", job)
    assert said.code == 4
    assert everything(folder.path.parent) == before


def test_a_home_without_permission_is_told(
    run: Runner, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.access(closed, os.W_OK):
        monkeypatch.setattr(Path, "mkdir", denied)
    monkeypatch.setenv("PAISLURM_HOME", str(closed / "home"))
    said = run("submit", job)
    assert said.code == 4
    assert f"error E510: cannot write {closed / 'home'}: Permission denied" in said.err
    assert "set PAISLURM_HOME" in said.err


def denied(path: Path, *_: object, **__: object) -> None:
    """Refuse to make a folder as the kernel would refuse anybody but root."""
    if not path.exists():
        raise PermissionError(13, "Permission denied", str(path))


def test_a_home_that_is_a_file_is_told(
    run: Runner, job: str, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAISLURM_HOME", job)
    said = run("submit", job)
    assert (said.code, slurm.submissions) == (4, [])
    assert f"error E510: cannot write {job}" in said.err
    assert "hint: set PAISLURM_HOME" in said.err


def test_a_name_that_is_too_long_is_told(run: Runner, tmp_path: Path, slurm: FakeBackend) -> None:
    said = run("submit", job_file(tmp_path, JOB.replace("name: demo", f"name: {'x' * 254}")))
    assert said.code in (3, 4)
    assert "Traceback" not in said.err
    assert not slurm.submissions


RACE = """
import sys, time
from paislurm.translator.cli import home
from paislurm.translator.cli.main import main

class Slow:
    def submit(self, submission):
        time.sleep(0.2)
        print(submission.tag, flush=True)
        return str(time.time_ns())
    def observe(self, ids): return {}
    def find(self, tag): return None

home._choose = lambda name: Slow()
while time.time() < float(sys.argv[2]): pass
sys.exit(main(["submit", sys.argv[1]]))
"""


@pytest.mark.parametrize("finished", [False, True])
def test_of_submits_at_the_same_moment_one_wins(
    run: Runner, job: str, slurm: FakeBackend, folder: JobFolder, *, finished: bool
) -> None:
    if finished:
        run("submit", job)
        finish(folder, slurm)
        run("status", "demo")
    start = str(time.time() + 1)
    submits = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, job, start], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    said = [submit.communicate() for submit in submits]
    assert sorted(submit.returncode for submit in submits) == [0, 4, 4, 4], said
    assert sum("paislurm-" in out for out, _ in said) == 1
    names = [folder.name, f"{folder.name}.1"] if finished else [folder.name]
    assert sorted(path.name for path in folder.path.parent.iterdir()) == names
    assert sum("E511" in err or "E512" in err for _, err in said) == 3


def test_ctrl_c_while_submitting_says_that_nobody_knows(
    run: Runner, job: str, slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def submit(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(slurm, "submit", submit)
    said = run("submit", job)
    assert said.code == 130
    assert "whether it was taken is not known" in said.err
    assert folder.journal.exists()
