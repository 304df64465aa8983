"""What tests of use cases and of the command line stand on: a home, a site profile, jobs in it, and a Slurm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs import polling
from paislurm.translator.app.jobs import waiting as wait
from paislurm.translator.app.session import Session, user_name
from paislurm.translator.app.sites import ask as ask_module
from paislurm.translator.errors import Diagnostic, UnreachableError
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import RetryPolicy
from tests.clock import clock

from .app.ran import Ran, run_here
from .cli.running import GOOD, LIMITED, ME, SITE, job_file, keep_apart, own_job
from .cli.running import JOB as CLI_JOB
from .monitor.jobs import CREATED, ENDED, INTENT, SUBMITTED, FakeBackend, job_folder, leave_result, observed
from .protocol.jobs import JOB, changed


@pytest.fixture
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
def files(tmp_path: Path) -> tuple[str, str]:
    """A good job file, and one with an unknown key, a wrong number and an `if` without its `fi`."""
    bad = GOOD.replace("instances: 1", "instances: two\n    shared: true").replace("        fi\n", "")
    return job_file(tmp_path, GOOD, "good.yaml"), job_file(tmp_path, bad, "bad.yaml")


@pytest.fixture
def limited(tmp_path: Path, profile: Path) -> str:
    profile.write_text(LIMITED, encoding="utf-8")
    return job_file(tmp_path, f"{CLI_JOB}parameters: {{lr: 1}}\n")


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
def waiting(slurm: FakeBackend, job: str, demo: JobFolder) -> JobFolder:
    """Submit the small job, which waits; Slurm has it as job 101."""
    Session(say=lambda _: None).jobs.submit(job, slurm={"time": "60"})
    assert slurm.submissions
    return demo


@pytest.fixture
def then(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Return what lets the world change, once each time that a command sleeps; at last the user interrupts it."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    def change(*changes: Callable[[], object], seconds: float = 0) -> list[float]:
        """Return the pauses, which take no time; with `seconds`, so many pass between two looks at the clock."""
        left, now, pauses = iter(changes), iter(range(10_000)), list[float]()

        def sleep(pause: float) -> None:
            pauses.append(pause)
            next(left, interrupt)()

        monkeypatch.setattr(wait.time, "sleep", sleep)
        if seconds:
            monkeypatch.setattr(wait.time, "monotonic", lambda: next(now) * seconds)
        return pauses

    return change


@pytest.fixture
def ended(surroundings: Path) -> Callable[..., JobFolder]:
    """Make jobs that have ended."""

    def make(name: str, *, age: int = 0, state: str = "SUCCEEDED", job: str = "", group: str = "") -> JobFolder:
        at = clock() - age
        created, submitted = (
            replace(record, job=job or name, user=user_name(), happened_at=at - 9) for record in (CREATED, SUBMITTED)
        )
        created = replace(created, group=group)
        end = replace(ENDED, state=state, happened_at=at, ended_at=at)
        folder = job_folder(surroundings, created, INTENT, submitted, end, name=f"{user_name()}~{name}")
        leave_result(folder)
        for path in ("logs/0-worker/0.stdout.log", "work/0-worker/0/model"):
            file = folder.attempt(0) / path
            file.parent.mkdir(parents=True)
            file.write_bytes(b"x\n")
        return folder

    return make


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., Ran]:
    """Run the small job on this machine, with changes, and return what it left behind."""

    def submit(
        commands: list[str],
        prerequisites: list[dict[str, Any]] | None = None,
        options: dict[str, str] | None = None,
        /,
        **values: object,
    ) -> Ran:
        job = changed(JOB, "taskRoles/worker/commands", commands)
        job["prerequisites"] += prerequisites or []
        for path, value in values.items():
            job = changed(job, path.replace("__", "/"), value)
        return run_here(job_file(tmp_path, yaml.safe_dump(job, sort_keys=False)), **options or {})

    return submit


@pytest.fixture
def three(surroundings: Path, slurm: FakeBackend) -> list[JobFolder]:
    """Make two jobs that run, and one that has ended."""
    slurm.observations |= {JobId(word): observed("RUNNING", job_id=word) for word in ("11", "12")}
    end = replace(ENDED, node_list="n[1-2]")
    return [
        own_job(surroundings, "train-1", "11", age=300),
        own_job(surroundings, "train-2", "12", age=200),
        own_job(surroundings, "old", "13", end, age=90_000),
    ]


@pytest.fixture
def retried(surroundings: Path, slurm: FakeBackend) -> JobFolder:
    """Make a job of two retries, whose first attempt runs."""
    own = {"user": user_name(), "happened_at": clock() - 10}
    slurm.observations[JobId("7")] = observed("RUNNING")
    created = replace(CREATED, **own, retry_policy=RetryPolicy(retry_limit=2))
    folder = job_folder(surroundings, created, INTENT, replace(SUBMITTED, **own), name=ME)
    folder.script(0).write_text("#!/bin/bash\n", encoding="utf-8")
    return folder
