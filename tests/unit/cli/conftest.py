"""A home and a Slurm for each test, and the command line as a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
import yaml
from msgspec.structs import replace

from paislurm.translator.app.jobs import polling
from paislurm.translator.app.session import Session, user_name
from paislurm.translator.app.sites import ask as ask_module
from paislurm.translator.errors import Diagnostic, UnreachableError
from paislurm.translator.state.address import newest
from paislurm.translator.state.job_folder import JobFolder
from tests.clock import clock

from ..monitor.jobs import CREATED, INTENT, SUBMITTED, FakeBackend, job_folder
from ..protocol.jobs import JOB, changed
from .ran import Ran
from .running import ME, SITE, Runner, job_file, keep_apart

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the user's own jobs and profiles out of the tests; return the folder of the jobs."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    return keep_apart(tmp_path, monkeypatch) / "jobs"


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> FakeBackend:
    """Put a Slurm in place that says what the test wants, whenever it is asked."""
    backend = FakeBackend()
    monkeypatch.setattr(polling, "SHARED", ())
    monkeypatch.setattr(Session, "_new_backend", lambda *_: backend)
    return backend


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no Slurm."""
    away = UnreachableError(Diagnostic(code="E501", message="`scontrol` is not on PATH"))
    monkeypatch.setattr(ask_module, "ask", Mock(side_effect=away))


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a site profile in place, so that nothing is hinted."""
    path = tmp_path / "site.yaml"
    path.write_text(SITE, encoding="utf-8")
    monkeypatch.setenv("PAISLURM_SITE", str(path))
    return path


@pytest.fixture
def job(profile: Path) -> str:
    """Write a job file, beside the site profile; return its path."""
    return job_file(profile.parent)


@pytest.fixture
def demo(surroundings: Path) -> JobFolder:
    """Return the folder that one's own job `demo` has as soon as it is submitted."""
    return JobFolder(path=surroundings / ME)


@pytest.fixture
def folder(surroundings: Path) -> JobFolder:
    """Make a job that was submitted a moment ago."""
    recent = clock() - 5
    return job_folder(
        surroundings,
        replace(CREATED, user=user_name(), happened_at=recent),
        replace(INTENT, happened_at=recent),
        replace(SUBMITTED, user=user_name(), happened_at=recent),
        name=ME,
    )


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Runner:
    """Return the command line as a function."""
    return Runner(capfd)


@pytest.fixture
def ran(run: Runner, tmp_path: Path, surroundings: Path) -> Callable[..., Ran]:
    """Run the small job on this machine, with changes, and return what it left behind."""

    def submit(
        commands: list[str],
        prerequisites: list[dict[str, Any]] | None = None,
        *options: str,
        **values: object,
    ) -> Ran:
        job = changed(JOB, "taskRoles/worker/commands", commands)
        job["prerequisites"] += prerequisites or []
        for path, value in values.items():
            job = changed(job, path.replace("__", "/"), value)
        file = job_file(tmp_path, yaml.safe_dump(job, sort_keys=False))
        said = run("submit", file, "--backend", "local", "--wait", *options)
        folder = newest(path.name for path in surroundings.glob("*~demo*")).values()
        assert folder, said.err
        return Ran(said, surroundings.joinpath(*folder))

    return submit
