"""A submit where nobody has written a profile: Slurm is asked for one, once a day."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from paislurm.translator.app.session import Session
from paislurm.translator.app.sites import ask as ask_module
from paislurm.translator.app.sites.find import detected_path

from ...site.detection.answered import recorded
from ..running import JOB, SITE, job_file

if TYPE_CHECKING:
    from pathlib import Path

    from ..running import Runner

ASKED = "no site profile found: paislurm detects one from Slurm"
UNKNOWN = "no site profile found: all settings are defaults"
DAY = 24 * 3600


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Put a Slurm in place that answers as recorded, and count how often it is asked; there is no profile."""
    times: list[str] = []

    def answer(*_: object) -> object:
        times.append("asked")
        return recorded("24.11")

    monkeypatch.setattr(ask_module, "ask", answer)
    return times


def submit(run: Runner, file: str) -> str:
    """Submit a job where no Slurm takes it, and return what was said."""
    said = run("submit", file)
    assert said.code == 6
    return said.err


def test_the_site_is_detected_once_and_used_by_later_plans(run: Runner, tmp_path: Path, asked: list[str]) -> None:
    file = job_file(tmp_path)
    assert UNKNOWN in run("site", "show").err
    first = submit(run, file)
    assert (len(asked), first.count(ASKED)) == (1, 1)
    assert (ASKED in submit(run, file), len(asked)) == (False, 1)
    assert UNKNOWN not in run("site", "show").err
    assert "detected by `submit`" in run("site", "show").err
    assert detected_path(Session()).stat().st_mode & 0o777 == 0o600


def test_a_dry_run_plans_as_submit_and_saves_nothing(run: Runner, tmp_path: Path, asked: list[str]) -> None:
    file = job_file(tmp_path)
    tried = run("submit", file, "--dry-run")
    assert (tried.code, len(asked), tried.err.count(ASKED)) == (0, 1, 1)
    assert not detected_path(Session()).parent.parent.exists()
    submit(run, file)
    assert run("plan", file).out in tried.out + "\n"


def test_the_site_is_detected_again_after_a_day(run: Runner, tmp_path: Path, asked: list[str]) -> None:
    file = job_file(tmp_path)
    submit(run, file)
    before = detected_path(Session()).stat().st_mtime - DAY - 2
    os.utime(detected_path(Session()), (before, before))
    assert (ASKED in submit(run, file), len(asked)) == (True, 2)


def test_a_written_profile_overrides_the_detected_one(run: Runner, tmp_path: Path, asked: list[str]) -> None:
    (tmp_path / "site.yaml").write_text(SITE)
    run("submit", job_file(tmp_path), "--site", str(tmp_path / "site.yaml"), "--dry-run")
    (tmp_path / "config/paislurm").mkdir(parents=True)
    (tmp_path / "config/paislurm/site.yaml").write_text(SITE)
    run("submit", job_file(tmp_path), "--dry-run")
    run("submit", job_file(tmp_path), "--backend", "local", "--dry-run")
    assert (asked, detected_path(Session()).exists()) == ([], False)


def test_a_refusal_by_an_old_detected_profile_detects_the_site_again(
    run: Runner, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An account, or a reservation, may be an hour old."""
    submit(run, job_file(tmp_path))
    file = job_file(tmp_path, f"{JOB}extras: {{slurm: {{account: new}}}}\n", "new.yaml")
    run("submit", file).ends(4, "error E407: the site has no account 'new'; it has extra, research")
    assert len(asked) == 2
    answers = recorded("24.11")
    monkeypatch.setattr(
        ask_module, "ask", lambda *_: replace(answers, accounts=answers.accounts.replace("|extra|", "|new|"))
    )
    assert run("submit", file, "--dry-run").code == 0
    assert run("plan", file).code == 4
    submit(run, file)


def test_a_refusal_by_slurm_detects_the_site_again(
    run: Runner, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profile lets the job pass: its partition has gone, or does not accept the account any more."""
    refused = "#!/bin/sh\n[ $1 != --version ] || exec echo slurm 24.11.5\necho 'Invalid partition name' >&2; exit 1\n"
    (tmp_path / "sbatch").write_text(refused)
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    file, out_of_date = job_file(tmp_path), "the detected site profile was out of date and is new now"
    first = run("submit", file)
    assert (first.code, len(asked), out_of_date in first.err) == (4, 2, False)
    answers = recorded("24.11")
    changed = replace(answers, partitions=answers.partitions.replace("MaxTime=1-00:00:00", "MaxTime=02:00:00"))
    monkeypatch.setattr(ask_module, "ask", lambda *_: changed)
    second = run("submit", file)
    assert (second.code, out_of_date in second.err, str(detected_path(Session())) in second.err) == (4, True, True)
    assert 'timeLimit: "02:00:00"' in detected_path(Session()).read_text()
    assert run("plan", file).code == 0


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_detected_profile_writable_by_others_is_ignored(
    run: Runner, tmp_path: Path, asked: list[str], mode: int
) -> None:
    file = job_file(tmp_path)
    submit(run, file)
    detected_path(Session()).chmod(mode)
    assert (len(asked), UNKNOWN in run("site", "show").err) == (1, True)


@pytest.mark.usefixtures("silent")
def test_without_an_answer_no_profile_is_saved(run: Runner, tmp_path: Path) -> None:
    assert run("submit", job_file(tmp_path), "--dry-run").code == 0
    assert not detected_path(Session()).exists()
