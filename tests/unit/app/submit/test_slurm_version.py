"""`submit` asks for the version of Slurm once a day; `plan` and `script` ask nobody."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from paislurm.backends.runner import Completed
from paislurm.backends.slurm import commands
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.translator.app.input.submit_host import DAY, installed_version
from paislurm.translator.app.session import Session

from ...backends.recording import Recording, Replay
from ...cli.running import job_file
from ...monitor.jobs import FakeBackend
from ..asked import Asked

DANGEROUS = "slurm 24.11.3\n"


@pytest.fixture(autouse=True)
def home_there(surroundings: Path, slurm: FakeBackend) -> None:
    """Let a job have been submitted before, to a Slurm 22.05."""
    surroundings.mkdir(parents=True)
    slurm.slurm = "slurm 22.05.8"


def kept(surroundings: Path) -> list[Path]:
    return sorted((surroundings.parent / "slurm-version").glob("*"))


def test_the_version_is_queried_once(slurm: FakeBackend, surroundings: Path) -> None:
    slurm.slurm = "slurm-wlm 22.05.8\n"
    assert [installed_version(Session(), "slurm") for _ in range(3)] == ["22.05.8"] * 3
    assert slurm.asked == 1
    (file,) = kept(surroundings)
    assert (file.name, file.stat().st_mode & 0o777) == (f"slurm@{os.uname().nodename}", 0o600)
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_the_version_is_queried_again_after_a_day(slurm: FakeBackend, surroundings: Path) -> None:
    installed_version(Session(), "slurm")
    slurm.slurm = "slurm 24.11.5"
    (file,) = kept(surroundings)
    now = time.time()
    os.utime(file, (now, now - DAY - 1))
    assert (installed_version(Session(), "slurm"), slurm.asked) == ("24.11.5", 2)
    os.utime(file, (now, now + DAY + 60))
    assert (installed_version(Session(), "slurm"), slurm.asked) == ("24.11.5", 3)


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"what?\n", b"24.11\n"])
def test_an_unreadable_cache_is_replaced(slurm: FakeBackend, surroundings: Path, data: bytes) -> None:
    installed_version(Session(), "slurm")
    (file,) = kept(surroundings)
    file.write_bytes(data)
    assert (installed_version(Session(), "slurm"), slurm.asked, file.read_text()) == ("22.05.8", 2, "22.05.8\n")


def test_each_backend_has_its_own_cache(slurm: FakeBackend, surroundings: Path) -> None:
    installed_version(Session(), "slurm")
    installed_version(Session(), "other")
    assert slurm.asked == len(kept(surroundings)) == 2


@pytest.mark.parametrize("fails", ["away", "missing", "refuses", ""])
def test_without_an_answer_no_version_is_assumed_or_cached(slurm: FakeBackend, surroundings: Path, fails: str) -> None:
    """Nor of an answer without a version."""
    slurm.fails, slurm.slurm = fails, "welcome\n"
    assert (installed_version(Session(), "slurm"), kept(surroundings)) == ("", [])


def test_an_unwritable_home_is_not_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PAISLURM_HOME", str(tmp_path / "file"))
    assert installed_version(Session(), "slurm") == "22.05.8"


def test_before_the_first_job_no_folder_is_created(surroundings: Path) -> None:
    surroundings.rmdir()
    surroundings.parent.rmdir()
    assert installed_version(Session(), "slurm") == "22.05.8"
    assert not surroundings.parent.exists()


@pytest.fixture
def two_roles(tmp_path: Path) -> str:
    return job_file(
        tmp_path,
        """\
protocolVersion: 2
name: demo
type: job
prerequisites: [{name: image, type: dockerimage, uri: /image}]
taskRoles:
  master: &role
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: ["true"]
  worker: *role
""",
    )


@pytest.fixture
def nodes(tmp_path: Path) -> str:
    partition = "{nodes: [{count: 4, cpus: 16, memoryMB: 100000}]}"
    return job_file(tmp_path, f"partitions: {{a: {partition}}}\ndefaultPartition: a\nlayout: het\n", "nodes.yaml")


def test_submit_chooses_the_layout_by_version(
    asked: Asked, slurm: FakeBackend, surroundings: Path, two_roles: str, nodes: str
) -> None:
    slurm.slurm = DANGEROUS
    assert asked.jobs.submit(two_roles, site=nodes).code == 0
    (submission,) = slurm.submissions
    assert "#SBATCH hetjob" not in submission.script.read_text()
    (folder,) = surroundings.glob("*~demo")
    assert json.loads((folder / "plan.json").read_text())["slurm"]["slurm_version"] == "24.11.3"


def test_plan_and_script_do_not_query_slurm(asked: Asked, slurm: FakeBackend, two_roles: str, nodes: str) -> None:
    slurm.slurm = DANGEROUS
    assert "#SBATCH hetjob" in asked.compiler.script(two_roles, site=nodes).out
    assert "24.11.3" not in asked.compiler.plan(two_roles, site=nodes).out
    assert slurm.asked == 0


def test_the_version_in_the_profile_takes_precedence(
    asked: Asked, slurm: FakeBackend, tmp_path: Path, two_roles: str
) -> None:
    slurm.slurm = DANGEROUS
    site = tmp_path / "nodes.yaml"
    site.write_text(
        "slurmVersion: 26.05.5\npartitions: {a: {nodes: [{count: 4, cpus: 16, memoryMB: 100000}]}}\n"
        "defaultPartition: a\n"
    )
    assert "slurm       26.05.5\n" in asked.jobs.submit(two_roles, site=str(site), dry_run=True).submitted.plan_text
    assert slurm.asked == 0


def test_the_version_comes_from_sbatch_and_not_the_controller() -> None:
    argv = tuple(commands.sbatch_version())
    answer = Recording(argv, Completed(status=0, stdout="slurm-wlm 22.05.8\n", stderr=""))
    assert SlurmBackend(Replay([answer])).version() == "slurm-wlm 22.05.8\n"
    assert argv == ("sbatch", "--version")
