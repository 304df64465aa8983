"""`submit` where files are the trouble: what cannot be written, and names that somebody else has or wants."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import Mock

import pytest

from paislurm.translator.app.submit import new_folder
from paislurm.translator.files.lock import Lock
from paislurm.translator.files.shared_files import SharedFiles
from paislurm.translator.state.job_folder import JobFolder
from tests.children import child

from ...cli.running import JOB, everything, finish, job_file
from ...monitor.jobs import FakeBackend
from ..asked import Asked


def test_the_name_of_an_unfinished_job_cannot_be_reused(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder
) -> None:
    asked.jobs.submit(job)
    before = everything(demo.path.parent)
    asked.jobs.submit(job).ends(4, f"error E511: {demo.name} has not ended yet: WAITING, job 101", "--suffix")
    changed = everything(demo.path.parent).items() ^ before.items()
    assert [name for name, _ in changed if "journal" not in name] == []
    assert len(slurm.submissions) == 1
    assert asked.jobs.submit(job, suffix="-2").code == 0


def test_each_job_of_a_name_has_a_folder_of_its_own(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder
) -> None:
    names = [demo.name, f"{demo.name}@2", f"{demo.name}@3"]
    for name in names:
        said = asked.jobs.submit(job)
        assert (said.code, said.out.startswith(f"{name} is job ")) == (0, True)
        finish(JobFolder(path=demo.path.with_name(name)), slurm, reason=f"run of {name}.")
    assert sorted(path.name for path in demo.path.parent.iterdir()) == names
    for word, name in {
        "demo": names[2],
        "demo@1": names[0],
        "demo@2": names[1],
        **dict(zip(names, names, strict=True)),
    }.items():
        assert f"run of {name}." in asked.jobs.status(word).out
    assert [line.name for line in asked.jobs.list().value] == names[2:]
    lines = asked.jobs.list(everything=True).value
    typed = asked.jobs.with_typed_names(lines).value
    assert sorted(line.name for line in typed) == [f"{demo.name}@{number}" for number in (1, 2, 3)]


def test_the_end_of_the_old_job_is_recorded_before_the_new_folder_has_its_name(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while another process has the monitor's lock: it could judge by later evidence, and retry the old job."""
    asked.jobs.submit(job)
    finish(demo, slurm)
    publish, recorded = new_folder.publish, []
    monkeypatch.setattr(new_folder, "publish", lambda *words: recorded.append(demo.history().ended) or publish(*words))
    with Lock(SharedFiles(demo.path.parent.parent / "monitor")).taken() as mine:
        assert (mine, demo.history().ended) == (True, None)
        assert asked.jobs.submit(job).code == 0
    assert [end is not None for end in recorded] == [True]


def test_the_name_of_the_removed_newest_job_is_not_used_again(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder
) -> None:
    """Not even by a submit that is undone, or after another removal."""
    for number in (1, 2, 3):
        name = demo.name if number == 1 else f"{demo.name}@{number}"
        slurm.fails = "refuses"
        assert asked.jobs.submit(job).code == 4
        slurm.fails = ""
        assert asked.jobs.submit(job).out.startswith(f"{name} is job ")
        finish(JobFolder(path=demo.path.with_name(name)), slurm)
        assert (
            asked.jobs.remove("demo").code,
            asked.jobs.list(everything=True).value,
            asked.jobs.status("demo").code,
        ) == (0, [], 5)
        assert [path.name for path in demo.path.parent.iterdir()] == [".removed"]


def test_a_folder_that_is_not_a_job_is_not_changed(asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder) -> None:
    demo.path.mkdir(parents=True)
    (demo.path / "precious").write_text("x", encoding="utf-8")
    asked.jobs.submit(job).ends(4, "is not a job's folder")
    assert ((demo.path / "precious").exists(), slurm.submissions) == (True, [])


# With Python 3.14, a temporary file that the limit has closed complains when it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_leaves_no_files(
    asked: Asked, job: str, slurm: FakeBackend, surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        from paislurm.translator.cli.main import main

        code = main(["submit", job])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (code, slurm.submissions, list(surroundings.iterdir())) == (4, [], [])
    assert asked.jobs.submit(job).code == 0


def test_a_full_disk_restores_the_finished_job(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.jobs.submit(job)
    finish(demo, slurm)
    asked.jobs.status("demo")
    before = everything(demo.path.parent)
    monkeypatch.setattr(new_folder, "publish", Mock(side_effect=OSError(122, "Disk quota exceeded", "somewhere")))
    assert (asked.jobs.submit(job).code, everything(demo.path.parent)) == (4, before)


def test_a_home_without_permission_is_reported(
    asked: Asked, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    monkeypatch.setattr(Path, "mkdir", denied)
    monkeypatch.setenv("PAISLURM_HOME", str(closed / "home"))
    asked.jobs.submit(job).ends(
        4, f"error E510: cannot write {closed / 'home'}: Permission denied", "set PAISLURM_HOME"
    )


def denied(path: Path, *_: object, **__: object) -> None:
    """Refuse to make a folder as the kernel would refuse anybody but root."""
    if not path.exists():
        raise PermissionError(13, "Permission denied", str(path))


def test_a_home_that_is_a_file_is_reported(
    asked: Asked, job: str, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAISLURM_HOME", job)
    hint = "hint: set PAISLURM_HOME to a folder of your own that all nodes share"
    asked.jobs.submit(job).ends(4, f"error E542: PAISLURM_HOME {job} cannot be used: {job} is not a folder", hint)
    assert slurm.submissions == []


def test_a_too_long_name_is_reported(asked: Asked, tmp_path: Path, slurm: FakeBackend) -> None:
    said = asked.jobs.submit(job_file(tmp_path, JOB.replace("name: demo", f"name: {'x' * 254}")))
    assert said.code in (3, 4)
    assert ("Traceback" in said.err, slurm.submissions) == (False, [])


RACE = """
import sys, time
from paislurm.backends.base import Accepted
from paislurm.translator.app.session import Session
from paislurm.translator.cli.main import main

class Slow:
    def version(self): return ""
    def submit(self, submission):
        time.sleep(0.2)
        print(submission.tag, flush=True)
        return Accepted(str(time.time_ns()))
    def observe(self, ids): return {}
    def find(self, tags): return {}

Session._new_backend = lambda self, name: Slow()
while time.time() < float(sys.argv[2]): pass
sys.exit(main(["submit", sys.argv[1]]))
"""


@pytest.mark.slow("five programs, four of them at once")
@pytest.mark.parametrize("finished", [False, True])
def test_only_one_of_simultaneous_submits_succeeds(
    asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder, *, finished: bool
) -> None:
    if finished:
        asked.jobs.submit(job)
        finish(demo, slurm)
        asked.jobs.status("demo")
    start = str(time.time() + 1)
    argv, pipes = [sys.executable, "-c", RACE, job, start], {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with ExitStack() as stack:
        submits = [stack.enter_context(child(argv, text=True, **pipes)) for _ in range(4)]
        said = [submit.communicate() for submit in submits]
    assert sorted(submit.returncode for submit in submits) == [0, 4, 4, 4], said
    assert sum("paislurm-" in out for out, _ in said) == 1
    names = [demo.name, f"{demo.name}@2"] if finished else [demo.name]
    assert sorted(path.name for path in demo.path.parent.iterdir()) == names
    assert sum("E511" in err or "E512" in err for _, err in said) == 3
