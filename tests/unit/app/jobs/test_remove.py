"""`paislurm remove`: which jobs go, what stays, and what is refused."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.translator.app.jobs import removing
from paislurm.translator.app.session import user_name
from paislurm.translator.plural import size_text
from paislurm.translator.state import folder_removal
from paislurm.translator.state.address import REMOVED
from paislurm.translator.state.folder_removal import room_taken
from paislurm.translator.state.job_folder import JobFolder
from tests.clock import clock

from ...monitor.jobs import CREATED, SUBMITTED, FakeBackend, job_folder, leave_result
from ..asked import Asked

DAY = 86400
ME = user_name()
pytestmark = pytest.mark.usefixtures("slurm")


def there(jobs: Path) -> set[str]:
    """Return what is in the folder of all jobs, hidden or not, except the names of removed jobs."""
    return {path.name.removeprefix(f"{ME}~") for path in jobs.iterdir()} - {REMOVED}


def test_a_named_job_is_removed(asked: Asked, ended: Callable[..., JobFolder], surroundings: Path) -> None:
    """With its folders that nobody may write to. Without a name nothing is removed."""
    (ended("one").attempt(0) / "work" / "0-worker" / "0").chmod(0o500)
    ended("two")
    assert asked.jobs.remove().code == 2
    assert there(surroundings) == {"one", "two"}
    said = asked.jobs.remove("one")
    assert [each.name for each in said.value.removed] == [f"{ME}~one"]
    assert (there(surroundings), asked.jobs.status("one").code) == ({"two"}, 5)


@pytest.mark.parametrize(
    ("word", "left"),
    [("one", {"one", "one@2", "one.1"}), ("one@1", {"one@2", "one@3", "one.1"}),
     ("one@2", {"one", "one@3", "one.1"}), ("one.1", {"one", "one@2", "one@3"})],
)  # fmt: skip
def test_each_job_of_a_name_can_be_removed(
    asked: Asked, ended: Callable[..., JobFolder], surroundings: Path, word: str, left: set[str]
) -> None:
    """Version 0.2.0 renamed an earlier job to `one.1`."""
    for name in ("one", "one@2", "one@3", "one.1"):
        ended(name, job="one")
    assert asked.jobs.remove(word).code == 0
    assert there(surroundings) == left


@pytest.mark.parametrize("words", [["one", "two"], ["*"]])
def test_an_unfinished_job_is_refused_and_nothing_is_removed(
    asked: Asked, ended: Callable[..., JobFolder], surroundings: Path, words: list[str]
) -> None:
    ended("one")
    records = [replace(record, job="two", user=ME, happened_at=clock()) for record in (CREATED, SUBMITTED)]
    job_folder(surroundings, *records, name=f"{ME}~two")
    asked.jobs.remove(*words).ends(4, "E591", "paislurm cancel two")
    assert there(surroundings) == {"one", "two"}
    assert asked.jobs.remove("*", older_than=1).code == 0
    assert "two" in there(surroundings)
    assert "--older-than" not in asked.jobs.remove("two").err


def test_jobs_are_selected_by_age_and_state(asked: Asked, ended: Callable[..., JobFolder], surroundings: Path) -> None:
    ended("old", age=31 * DAY)
    ended("old-failed", age=31 * DAY, state="FAILED")
    ended("new-failed", state="FAILED")
    said = asked.jobs.remove(older_than=30 * DAY, states=["FAILED"], dry_run=True)
    assert [job.name for job in said.value.removed] == [f"{ME}~old-failed"]
    assert len(there(surroundings)) == 3
    assert asked.jobs.remove(older_than=30 * DAY).code == 0
    assert there(surroundings) == {"new-failed"}
    assert asked.jobs.remove("new-*", older_than=30 * DAY).value.removed == ()


def test_keep_logs_keeps_logs_and_records(asked: Asked, ended: Callable[..., JobFolder], surroundings: Path) -> None:
    folder = ended("one")
    before = room_taken(str(folder.path))
    would, done = (asked.jobs.remove("one", keep_logs=True, dry_run=trial).document for trial in (True, False))
    after = room_taken(str(folder.path))
    assert would["removed"] == done["removed"]
    assert 0 < done["removed"][0]["inodes"] == before.inodes - after.inodes
    assert done["removed"][0]["size_bytes"] == before.size - after.size
    assert ((folder.attempt(0) / "work").exists(), there(surroundings)) == (False, {"one"})
    assert (asked.logs.read("one", "worker-0").value, asked.jobs.status("one").code) == ({"worker-0": "x\n"}, 0)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 KiB"), (512, "0.5 KiB"), (40960, "40 KiB"), (3 << 29, "1.5 GiB"), (9 << 50, "9216 TiB")]
)
def test_sizes_are_printed_in_short_form(size: int, text: str) -> None:
    assert size_text(size) == text


def test_symbolic_links_are_not_followed(
    asked: Asked, ended: Callable[..., JobFolder], tmp_path: Path, surroundings: Path
) -> None:
    outside = tmp_path / "data"
    outside.mkdir()
    (outside / "precious").touch()
    folder = ended("one")
    (folder.path / "link").symlink_to(outside)
    (folder.attempt(0) / "code").symlink_to(outside)
    assert [asked.jobs.remove("one", keep_logs=logs).code for logs in (True, False)] == [0, 0]
    assert ((outside / "precious").exists(), there(surroundings)) == (True, set())


@pytest.mark.parametrize("odd", ["st_uid", "st_dev"])
def test_unexpected_entries_in_a_folder_are_refused(
    asked: Asked,
    ended: Callable[..., JobFolder],
    surroundings: Path,
    monkeypatch: pytest.MonkeyPatch,
    odd: str,
) -> None:
    ended("one")
    real = folder_removal._walk

    def walk(top: str, status: os.stat_result) -> object:
        for path, found in real(top, status):
            values = {name: getattr(found, name) for name in ("st_uid", "st_dev")}
            if path.endswith("model"):
                values[odd] += 1
            yield path, type("Status", (), values)

    monkeypatch.setattr(folder_removal, "_walk", walk)
    asked.jobs.remove("one").ends(4, "E592", "model")
    assert there(surroundings) == {"one"}


def test_a_mount_in_a_folder_is_refused(
    asked: Asked, ended: Callable[..., JobFolder], surroundings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of the same file system can be mounted there, too."""
    folder = ended("one")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"proc /proc proc rw 0 0\n/dev/sda1 {folder.path}/a\\040b ext4 rw 0 0\n", encoding="utf-8")
    monkeypatch.setattr(folder_removal, "MOUNTS", mounts)
    asked.jobs.remove("one").ends(4, f"error E592: {folder.path}/a b is a mount point")
    assert there(surroundings) == {"one"}


def test_an_interrupted_removal_is_completed_by_the_next_one(
    asked: Asked, ended: Callable[..., JobFolder], surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended("one")
    ended("two")
    with monkeypatch.context() as patched:
        patched.setattr(removing, "delete", lambda _: False)
        [left] = asked.jobs.remove("one").value.removed
    assert left.left_behind
    assert [name.startswith(folder_removal.HIDDEN) for name in there(surroundings) - {"two"}] == [True]
    assert [line.name for line in asked.jobs.list(everything=True).value] == [f"{ME}~two"]
    assert asked.jobs.remove("two").code == 0
    assert there(surroundings) == set()


def test_a_removal_that_is_interrupted_leaves_no_secrets(
    asked: Asked, ended: Callable[..., JobFolder], surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that would have recorded the end, and removed them, stalls."""
    secrets = ended("one").secrets
    secrets.mkdir()
    (secrets / "key").write_text("a secret")
    monkeypatch.setattr(removing, "delete", lambda _: False)
    assert asked.jobs.remove("one").code == 0
    assert [path.name for path in surroundings.rglob("*.gone-*")]
    assert not list(surroundings.rglob("key"))


def test_a_job_with_an_unreadable_journal_is_not_removed(
    asked: Asked, ended: Callable[..., JobFolder], surroundings: Path
) -> None:
    ended("one").journal.unlink()
    asked.jobs.remove("one").ends(5, "E594")
    assert there(surroundings) == {"one"}


def test_of_two_removals_one_reports_the_other(
    asked: Asked, ended: Callable[..., JobFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, check = ended("one"), removing.check_removable

    def removed(_: JobFolder) -> None:
        check(folder)
        shutil.rmtree(folder.path)

    monkeypatch.setattr(removing, "check_removable", removed)
    asked.jobs.remove("one").ends(4, "E593", "is being removed by another process")


def test_another_users_job_is_refused(
    asked: Asked, ended: Callable[..., JobFolder], surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended("one")
    asked.jobs.list()
    real = os.geteuid()
    monkeypatch.setattr("paislurm.translator.app.paths.os.geteuid", lambda: real + 1)
    monkeypatch.setattr("paislurm.translator.app.paths.TRUSTED", real)
    monkeypatch.setattr("paislurm.translator.app.paths.replaceable", lambda _: iter(()))
    asked.jobs.remove("one").ends(4, "E541")
    assert there(surroundings) == {"one"}


def test_a_job_that_just_ended_can_be_removed(asked: Asked, folder: JobFolder, slurm: FakeBackend) -> None:
    """The end is found out by the removal itself."""
    leave_result(folder)
    slurm.observations.clear()
    assert (asked.jobs.remove("demo").code, folder.path.exists()) == (0, False)
