"""A submit where nobody has written a profile: Slurm is asked for one, once a day."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.translator.app.session import Session
from paislurm.translator.app.sites import ask as ask_module
from paislurm.translator.app.sites.find import detected_path

from ...cli.running import JOB, SITE, job_file
from ...site.detection.answered import recorded
from ..asked import Asked

ASKED = "no site profile found: paislurm detects one from Slurm"
DAY = 24 * 3600


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Put a Slurm in place that answers as recorded, and count how often it is asked; there is no profile."""
    times: list[str] = []

    def answer(*_: object) -> object:
        times.append("asked")
        return recorded("24.11")

    monkeypatch.setattr(ask_module, "ask", answer)
    return times


def submit(asked: Asked, file: str) -> str:
    """Submit a job where no Slurm takes it, and return what was said."""
    said = asked.jobs.submit(file)
    assert said.code == 6
    return said.err


def test_the_site_is_detected_once_and_used_by_later_plans(asked: Asked, tmp_path: Path, queries: list[str]) -> None:
    file = job_file(tmp_path)
    assert asked.sites.show().value.file is None
    first = submit(asked, file)
    assert (len(queries), first.count(ASKED)) == (1, 1)
    assert (ASKED in submit(asked, file), len(queries)) == (False, 1)
    assert "detected by `submit`" in asked.sites.show().value.found_by
    assert detected_path(Session()).stat().st_mode & 0o777 == 0o600


def test_a_dry_run_plans_as_submit_and_saves_nothing(asked: Asked, tmp_path: Path, queries: list[str]) -> None:
    file = job_file(tmp_path)
    tried = asked.jobs.submit(file, dry_run=True)
    assert (tried.code, len(queries), tried.err.count(ASKED)) == (0, 1, 1)
    assert not detected_path(Session()).parent.parent.exists()
    submit(asked, file)
    assert asked.compiler.plan(file).out == tried.submitted.plan_text


def test_the_site_is_detected_again_after_a_day(asked: Asked, tmp_path: Path, queries: list[str]) -> None:
    file = job_file(tmp_path)
    submit(asked, file)
    before = detected_path(Session()).stat().st_mtime - DAY - 2
    os.utime(detected_path(Session()), (before, before))
    assert (ASKED in submit(asked, file), len(queries)) == (True, 2)


def test_a_written_profile_overrides_the_detected_one(asked: Asked, tmp_path: Path, queries: list[str]) -> None:
    (tmp_path / "site.yaml").write_text(SITE)
    asked.jobs.submit(job_file(tmp_path), site=str(tmp_path / "site.yaml"), dry_run=True)
    (tmp_path / "config/paislurm").mkdir(parents=True)
    (tmp_path / "config/paislurm/site.yaml").write_text(SITE)
    asked.jobs.submit(job_file(tmp_path), dry_run=True)
    asked.jobs.submit(job_file(tmp_path), backend="local", dry_run=True)
    assert (queries, detected_path(Session()).exists()) == ([], False)


def test_a_refusal_by_an_old_detected_profile_detects_the_site_again(
    asked: Asked, tmp_path: Path, queries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An account, or a reservation, may be an hour old."""
    submit(asked, job_file(tmp_path))
    file = job_file(tmp_path, f"{JOB}extras: {{slurm: {{account: new}}}}\n", "new.yaml")
    asked.jobs.submit(file).ends(4, "error E407: the site has no account 'new'; it has extra, research")
    assert len(queries) == 2
    answers = recorded("24.11")
    monkeypatch.setattr(
        ask_module, "ask", lambda *_: replace(answers, accounts=answers.accounts.replace("|extra|", "|new|"))
    )
    assert asked.jobs.submit(file, dry_run=True).code == 0
    assert asked.compiler.plan(file).code == 4
    submit(asked, file)


def test_a_refusal_by_slurm_detects_the_site_again(
    asked: Asked, tmp_path: Path, queries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profile lets the job pass: its partition has gone, or does not accept the account any more."""
    refused = "#!/bin/sh\n[ $1 != --version ] || exec echo slurm 24.11.5\necho 'Invalid partition name' >&2; exit 1\n"
    (tmp_path / "sbatch").write_text(refused)
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    file, out_of_date = job_file(tmp_path), "the detected site profile was out of date and is new now"
    first = asked.jobs.submit(file)
    assert (first.code, len(queries), out_of_date in first.err) == (4, 2, False)
    answers = recorded("24.11")
    changed = replace(answers, partitions=answers.partitions.replace("MaxTime=1-00:00:00", "MaxTime=02:00:00"))
    monkeypatch.setattr(ask_module, "ask", lambda *_: changed)
    second = asked.jobs.submit(file)
    assert (second.code, out_of_date in second.err, str(detected_path(Session())) in second.err) == (4, True, True)
    assert 'timeLimit: "02:00:00"' in detected_path(Session()).read_text()
    assert asked.compiler.plan(file).code == 0


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_detected_profile_writable_by_others_is_ignored(
    asked: Asked, tmp_path: Path, queries: list[str], mode: int
) -> None:
    file = job_file(tmp_path)
    submit(asked, file)
    detected_path(Session()).chmod(mode)
    assert (len(queries), asked.sites.show().value.file) == (1, None)


@pytest.mark.usefixtures("silent")
def test_without_an_answer_no_profile_is_saved(asked: Asked, tmp_path: Path) -> None:
    assert asked.jobs.submit(job_file(tmp_path), dry_run=True).code == 0
    assert not detected_path(Session()).exists()
