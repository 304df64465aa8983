"""What the monitor does for jobs that ended long ago, and how seldom."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.translator.app.jobs.removing import DAY, HOUR, REMOVED, TIDIED, tidy_up
from paislurm.translator.app.session import Session, user_name
from paislurm.translator.state import folder_removal
from paislurm.translator.state.folder_removal import HIDDEN
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Record
from paislurm.translator.state.kept_script import read_script
from tests.clock import clock

from ...monitor.jobs import CREATED, ENDED, INTENT, SUBMITTED, leave_result
from ...state.tidying.left import SCRIPT, left
from ..asked import Asked

MONTH = 30 * DAY


def job(surroundings: Path, name: str, age: int, *, ended: bool = True) -> JobFolder:
    """Make a job of the user's that ended so many seconds ago, or was submitted then."""
    at = clock() - age
    records: list[Record] = [
        replace(CREATED, job=name, user=user_name(), happened_at=at),
        replace(INTENT, happened_at=at),
        replace(SUBMITTED, job=name, user=user_name(), happened_at=at),
    ]
    records += [replace(ENDED, happened_at=at, ended_at=at, backend_state="")] if ended else []
    folder = left(surroundings.parent, *records)
    if ended:
        leave_result(folder)
    folder = JobFolder(path=folder.path.rename(folder.path.with_name(f"{user_name()}~{name}")))
    os.utime(folder.journal, (at, at))
    return folder


def age_stamp(name: str, seconds: int) -> None:
    """Let it be so long ago that something was done."""
    at = clock() - seconds
    os.utime(Session().monitor_folder / name, (at, at))


def test_jobs_are_tidied_an_hour_after_their_end_and_checked_hourly(surroundings: Path) -> None:
    old, new = job(surroundings, "old", HOUR + 9), job(surroundings, "new", 9)
    tidy_up(Session(), None, print)
    assert (old.script(0).exists(), new.script(0).exists(), read_script(old, 0)) == (False, True, SCRIPT)
    more = job(surroundings, "more", HOUR + 9)
    tidy_up(Session(), None, print)
    assert more.script(0).exists()
    age_stamp(TIDIED, HOUR)
    tidy_up(Session(), None, print)
    assert not more.script(0).exists()


def test_old_jobs_are_removed_daily(surroundings: Path) -> None:
    said: list[str] = []
    old, new = job(surroundings, "old", MONTH + 9), job(surroundings, "new", MONTH - 99)
    living = job(surroundings, "living", 2 * MONTH, ended=False)
    tidy_up(Session(), MONTH, said.append)
    assert [folder.path.exists() for folder in (old, new, living)] == [False, True, True]
    assert said == [f"{old.name}: removed because of `jobs.removeAfter` of the site profile"]
    more = job(surroundings, "more", MONTH + 9)
    tidy_up(Session(), MONTH, said.append)
    assert more.path.exists()
    age_stamp(REMOVED, DAY)
    tidy_up(Session(), MONTH, said.append)
    assert not more.path.exists()


def test_jobs_are_removed_only_if_the_site_asks_for_it(surroundings: Path) -> None:
    old = job(surroundings, "old", 9999 * DAY)
    tidy_up(Session(), None, print)
    assert (old.path.exists(), (Session().monitor_folder / REMOVED).exists()) == (True, False)


def test_the_recorded_end_counts_and_not_the_file_time(surroundings: Path) -> None:
    """A copy of a home has other times, and it is the end that counts."""
    folder = job(surroundings, "new", 9)
    os.utime(folder.journal, (1, 1))
    tidy_up(Session(), MONTH, print)
    assert folder.path.exists()


def test_a_failed_removal_is_reported_and_other_jobs_are_removed(
    surroundings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    first, second = job(surroundings, "a", MONTH + 9), job(surroundings, "b", MONTH + 9)
    (tmp_path / "mounts").write_text(f"/dev/sda1 {first.path}/x ext4 rw 0 0\n", encoding="utf-8")
    monkeypatch.setattr(folder_removal, "MOUNTS", tmp_path / "mounts")
    tidy_up(Session(), MONTH, said.append)
    assert (first.path.exists(), second.path.exists()) == (True, False)
    assert said[0] == f"{first.name}: not removed: {first.path}/x is a mount point"


def test_interrupted_removals_are_completed(surroundings: Path) -> None:
    (surroundings / f"{HIDDEN}alice~demo-1234" / "work").mkdir(parents=True)
    tidy_up(Session(), None, print)
    assert list(surroundings.iterdir()) == []


def test_status_tidies_a_finished_job(asked: Asked, surroundings: Path) -> None:
    folder = job(surroundings, "old", HOUR + 9)

    def printed(task: str, stream: str) -> str:
        return str(asked.logs.read("old", task, stream=stream).value[task])

    before = printed("worker-1", "stderr")
    assert (asked.jobs.status("old").code, folder.script(0).exists()) == (0, False)
    assert printed("worker-1", "stderr") == before == "err\n"
    # The log of its errors was empty: what it printed is not shown in its place.
    (folder.attempt(0) / "logs/0-worker/0.stdout.log").write_text("out\n", encoding="utf-8")
    assert [printed("worker-0", stream) for stream in ("stderr", "stdout")] == ["", "out\n"]


def test_a_combined_log_is_shown_after_tidying(asked: Asked, surroundings: Path) -> None:
    folder = job(surroundings, "old", HOUR + 9)
    (folder.path / "plan.json").write_text('{"one_log": true}', encoding="utf-8")
    logs = folder.attempt(0) / "logs" / "0-worker"
    (logs / "0.stderr.log").unlink()
    (logs / "0.stdout.log").write_text("both\n", encoding="utf-8")
    assert (asked.jobs.status("old").code, folder.script(0).exists()) == (0, False)
    assert asked.logs.read("old", "worker-0", stream="stderr").value == {"worker-0": "both\n"}
