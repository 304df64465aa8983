"""Tests of a job's site profile: that of its submit, unless another user may have changed the file."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from paislurm.translator.app.jobs.job_sites import JobSites, missing_profile
from paislurm.translator.app.session import Session
from paislurm.translator.app.sites import find as sites
from paislurm.translator.site.policies import Monitor, Notifications
from paislurm.translator.site.profile import Site
from paislurm.translator.state.history import History
from paislurm.translator.state.run_record import FileDigest, RunRecord

from ..cli.running import keep_apart

OWN = Site.of(monitor=Monitor.of(max_poll_interval=99), notifications=Notifications.of(command=("/own",)))
TEXT = "monitor: {maxPollInterval: 7}\nretry: {maxAttemptsPerHour: 3}\nnotifications: {sendmail: /usr/sbin/sendmail}\n"
OTHER = TEXT.replace("7", "8")


def submitted_with(*files: Path) -> History:
    """Return the history of a job that was submitted with these files as they are now."""
    digests = tuple(FileDigest(file=str(file), sha256=sha256(file.read_bytes()).hexdigest()) for file in files)
    run = RunRecord(
        parameters={}, overrides={}, suffix="", argv=(), submit_folder="", kept_sha256="", script_sha256="",
        job_file=FileDigest(file="-", sha256=""), site_profiles=digests, secrets_file="", paislurm_version="",
        submitted_by="",
    )  # fmt: skip
    return History(job="demo", backend="slurm", run=run)


@pytest.fixture(autouse=True)
def no_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_apart(tmp_path, monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "site.yaml"
    path.write_text(TEXT)
    path.chmod(0o600)
    return path


def policies(known: History, **options: bool) -> tuple[Sequence[str], float, int, str]:
    """Return the notifier, the poll interval, the most attempts per hour, and the problem of a job's profile."""
    found = JobSites(Session(), OWN, **options)
    site = found.of(known)
    return site.notifier, site.poll_interval, found.most_attempts(known), site.problem


def test_the_profile_of_the_submit_applies(file: Path) -> None:
    known = submitted_with(file)
    assert policies(known) == (("/usr/sbin/sendmail", "-t", "-i"), 7, 3, "")
    assert JobSites(Session(), OWN).of(known).sends_mail
    assert policies(known, for_all=True) == (("/own",), 99, 60, "")
    assert policies(History(job="old")) == policies(submitted_with()) == (("/own",), 99, 60, "")


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_changes_by_the_owner_apply(file: Path, mode: int) -> None:
    known = submitted_with(file)
    file.write_text(OTHER)
    file.chmod(mode)
    assert policies(known)[1:] == (8, 3, "")


@pytest.mark.parametrize(("above", "mode"), [(False, 0o666), (True, 0o777)])
def test_possible_changes_by_others_are_ignored(file: Path, mode: int, *, above: bool) -> None:
    """Others may have replaced a file in a folder that they can write to."""
    known = submitted_with(file)
    place = file.parent if above else file
    place.chmod(mode)
    assert policies(known)[1:] == (7, 3, ""), "the file is unchanged"
    file.write_text(OTHER)
    *found, problem = policies(known)
    assert found == [(), 99, 60]
    why = f"and others can write to {place if above else 'it'} (mode {mode:04o}); no notifications are sent"
    assert problem.startswith(f"the site profile {file} has changed since the job was submitted, {why}")


def test_an_extended_profile_is_checked_as_well(file: Path) -> None:
    upper = file.with_name("upper.yaml")
    upper.write_text("extends: site.yaml\n")
    known = submitted_with(upper, file)
    assert policies(known)[1:] == (7, 3, "")
    file.chmod(0o622)
    file.write_text(OTHER)
    assert "others can write to it (mode 0622)" in policies(known)[3]


@pytest.mark.parametrize("broken", ["nothing: here\n", "{"])
def test_an_unreadable_profile_is_reported(file: Path, broken: str) -> None:
    known = submitted_with(file)
    assert missing_profile(Session(), known) == ""
    file.write_text(broken)
    assert policies(known)[:3] == ((), 99, 60)
    assert "; no notifications are sent" in policies(known)[3]
    file.unlink()
    assert policies(known)[3] == missing_profile(Session(), known)
    assert missing_profile(Session(), known).startswith(
        f"the site profile {file} with which the job was submitted is gone;"
    )


def test_default_profiles_are_found_again() -> None:
    """The user's profile extends the system's; a missing detected profile is no problem."""
    own = sites.user_path(Session())
    own.parent.mkdir(parents=True)
    own.write_text("retry: {maxAttemptsPerHour: 4}\n")
    known = submitted_with(own)
    own.write_text("retry: {maxAttemptsPerHour: 5}\n")
    own.chmod(0o664)
    assert policies(known) == ((), 180, 5, "")
    own.chmod(0o644)
    sites.SYSTEM.parent.mkdir()
    sites.SYSTEM.write_text(TEXT)
    known = submitted_with(own, sites.SYSTEM)
    assert policies(known)[1:] == (7, 5, "")
    own.unlink()
    assert f"the site profile {own} with which the job was submitted is gone" in missing_profile(Session(), known)
    detected = sites.detected_path(Session())
    detected.parent.mkdir(parents=True)
    detected.write_text(TEXT)
    known = submitted_with(detected)
    detected.unlink()
    assert missing_profile(Session(), known) == ""


def test_no_program_is_run_that_others_may_have_named(tmp_path: Path, file: Path) -> None:
    """A profile of the usual search: the folder above it may be one that another user has made or may write to."""
    own = tmp_path / "config" / "paislurm" / "site.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(TEXT)
    for path in (own, own.parent, own.parent.parent):
        path.chmod(0o700)
        assert JobSites(Session()).of(History(job="demo")).notifier
        path.chmod(0o777)
        site = JobSites(Session()).of(History(job="demo"))
        assert (site.notifier, site.poll_interval) == ((), 7)
        assert site.problem.startswith(f"the site profile {own} is not safe: ")
        # A profile that was named is asked about itself.
        assert policies(submitted_with(file))[0] == ("/usr/sbin/sendmail", "-t", "-i")
        path.chmod(0o700)
