"""`paislurm remove`: which jobs go, what stays, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from paislurm.translator.app.jobs import removing
from paislurm.translator.app.session import user_name
from paislurm.translator.plural import size_text
from paislurm.translator.state import folder_removal
from paislurm.translator.state.address import REMOVED
from paislurm.translator.state.folder_removal import room_taken
from tests.clock import clock

from ...monitor.jobs import CREATED, ENDED, INTENT, SUBMITTED, job_folder, leave_result

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from paislurm.translator.state.job_folder import JobFolder

    from ...monitor.jobs import FakeBackend
    from ..running import Runner

DAY = 86400
ME = user_name()
pytestmark = pytest.mark.usefixtures("slurm")


@pytest.fixture
def ended(surroundings: Path) -> Callable[..., JobFolder]:
    """Make jobs that have ended."""

    def make(name: str, *, age: int = 0, state: str = "SUCCEEDED", job: str = "", group: str = "") -> JobFolder:
        at = clock() - age
        created, submitted = (
            replace(record, job=job or name, user=ME, happened_at=at - 9) for record in (CREATED, SUBMITTED)
        )
        created = replace(created, group=group)
        end = replace(ENDED, state=state, happened_at=at, ended_at=at)
        folder = job_folder(surroundings, created, INTENT, submitted, end, name=f"{ME}~{name}")
        leave_result(folder)
        for path in ("logs/0-worker/0.stdout.log", "work/0-worker/0/model"):
            file = folder.attempt(0) / path
            file.parent.mkdir(parents=True)
            file.write_bytes(b"x\n")
        return folder

    return make


def there(jobs: Path) -> set[str]:
    """Return what is in the folder of all jobs, hidden or not, except the names of removed jobs."""
    return {path.name.removeprefix(f"{ME}~") for path in jobs.iterdir()} - {REMOVED}


def test_a_named_job_is_removed(run: Runner, ended: Callable[..., JobFolder], surroundings: Path) -> None:
    """With its folders that nobody may write to. Without a name nothing is removed."""
    (ended("one").attempt(0) / "work" / "0-worker" / "0").chmod(0o500)
    ended("two")
    assert [run("remove", *words).code for words in ([], ["--yes"])] == [2, 2]
    assert there(surroundings) == {"one", "two"}
    said = run("remove", "one")
    assert (said.code, said.out.startswith(f"removed {ME}~one (")) == (0, True)
    assert (there(surroundings), run("status", "one").code) == ({"two"}, 5)


@pytest.mark.parametrize(
    ("word", "left"),
    [("one", {"one", "one@2", "one.1"}), ("one@1", {"one@2", "one@3", "one.1"}),
     ("one@2", {"one", "one@3", "one.1"}), ("one.1", {"one", "one@2", "one@3"})],
)  # fmt: skip
def test_each_job_of_a_name_can_be_removed(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path, word: str, left: set[str]
) -> None:
    """Version 0.2.0 renamed an earlier job to `one.1`."""
    for name in ("one", "one@2", "one@3", "one.1"):
        ended(name, job="one")
    assert run("remove", word).code == 0
    assert there(surroundings) == left


@pytest.mark.parametrize("words", [["one", "two"], ["*", "--yes"]])
def test_an_unfinished_job_is_refused_and_nothing_is_removed(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path, words: list[str]
) -> None:
    ended("one")
    records = [replace(record, job="two", user=ME, happened_at=clock()) for record in (CREATED, SUBMITTED)]
    job_folder(surroundings, *records, name=f"{ME}~two")
    run("remove", *words).ends(4, "E591", "paislurm cancel two", "use `--older-than 1s` to remove only ended jobs")
    assert there(surroundings) == {"one", "two"}
    assert run("remove", "*", "--older-than", "1s", "--yes").code == 0
    assert "two" in there(surroundings)
    assert "--older-than" not in run("remove", "two").err


def test_without_a_terminal_a_pattern_needs_yes(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path
) -> None:
    for name in ("a-1", "a-2", "b"):
        ended(name)
    for words in (["a-*"], ["--state", "succeeded"]):
        run("remove", *words).ends(2, "--yes")
    assert there(surroundings) == {"a-1", "a-2", "b"}
    assert run("remove", "a-*", "--yes").code == 0
    assert there(surroundings) == {"b"}


@pytest.mark.parametrize("by_name", [True, False])
def test_without_a_terminal_a_group_needs_yes_and_jobs_that_are_named_do_not(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path, *, by_name: bool
) -> None:
    for name in ("seed10", "seed2"):
        ended(name, group="sweep")
    ended("only", group="alone")
    for words in (["sweep"], ["seed2", "sweep"]):
        run("remove", *words).ends(2, "cannot ask to confirm the removal of 2 jobs: use --yes")
    assert there(surroundings) == {"seed10", "seed2", "only"}
    *rows, total = run("remove", "sweep", "--dry-run").out.splitlines()
    assert ([line.split()[2] for line in rows], "2 jobs" in total) == ([f"{ME}~seed2", f"{ME}~seed10"], True)
    for words in (["alone"], ["seed10", f"{ME}~seed2"] if by_name else ["sweep", "--yes"]):
        assert run("remove", *words).code == 0
    assert there(surroundings) == set()


@pytest.mark.parametrize(("answer", "stays"), [("n", {"a", "b"}), ("y", set())])
def test_on_a_terminal_several_jobs_need_confirmation(
    run: Runner,
    ended: Callable[..., JobFolder],
    surroundings: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    stays: set[str],
) -> None:
    ended("a")
    ended("b")
    monkeypatch.setattr("paislurm.translator.cli.output.removal.is_terminal", lambda _: True)
    confirm = Mock(return_value=answer == "y")
    monkeypatch.setattr("click.confirm", confirm)
    run("remove", "a", "b")
    assert confirm.call_args.args == ("remove these 2 jobs?",)
    assert there(surroundings) == stays


def test_jobs_are_selected_by_age_and_state(run: Runner, ended: Callable[..., JobFolder], surroundings: Path) -> None:
    ended("old", age=31 * DAY)
    ended("old-failed", age=31 * DAY, state="FAILED")
    ended("new-failed", state="FAILED")
    said = run("remove", "--older-than", "30d", "--state", "failed", "--dry-run", "--json")
    assert [job["name"] for job in json.loads(said.out)["removed"]] == [f"{ME}~old-failed"]
    assert len(there(surroundings)) == 3
    assert run("remove", "--older-than", "30d", "--yes").code == 0
    assert there(surroundings) == {"new-failed"}
    assert run("remove", "new-*", "--older-than", "30d", "--yes").err == "no such jobs\n"
    assert run("remove", "--older-than", "soon").code == 2


def test_keep_logs_keeps_logs_and_records(run: Runner, ended: Callable[..., JobFolder], surroundings: Path) -> None:
    folder = ended("one")
    before = room_taken(str(folder.path))
    would, done = (json.loads(run("remove", "one", "--keep-logs", "--json", *more).out) for more in (["--dry-run"], []))
    after = room_taken(str(folder.path))
    assert would["removed"] == done["removed"]
    assert 0 < done["removed"][0]["inodes"] == before.inodes - after.inodes
    assert done["removed"][0]["size_bytes"] == before.size - after.size
    assert ((folder.attempt(0) / "work").exists(), there(surroundings)) == (False, {"one"})
    assert (run("logs", "one", "worker-0").out, run("status", "one").code) == ("x\n", 0)


def test_list_shows_and_sorts_by_the_size_of_folders(run: Runner, ended: Callable[..., JobFolder]) -> None:
    for name, size in (("large", 1 << 20), ("small", 1)):
        (ended(name).path / "data").write_bytes(b"x" * size)
    rows = [line.split() for line in run("list", "--columns", "name,size", "--sort", "-size").out.splitlines()]
    assert ([row[0] for row in rows], rows[1][-1]) == (["name", "large", "small"], "MiB")
    by_size = json.loads(run("list", "--sort", "-size", "--json").out)["jobs"]
    assert [job["size_bytes"] for job in by_size] == [room_taken(job["folder"]).size for job in by_size]
    assert [job["size_bytes"] for job in json.loads(run("list", "--json").out)["jobs"]] == [None, None]


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 KiB"), (512, "0.5 KiB"), (40960, "40 KiB"), (3 << 29, "1.5 GiB"), (9 << 50, "9216 TiB")]
)
def test_sizes_are_printed_in_short_form(size: int, text: str) -> None:
    assert size_text(size) == text


def test_symbolic_links_are_not_followed(
    run: Runner, ended: Callable[..., JobFolder], tmp_path: Path, surroundings: Path
) -> None:
    outside = tmp_path / "data"
    outside.mkdir()
    (outside / "precious").touch()
    folder = ended("one")
    (folder.path / "link").symlink_to(outside)
    (folder.attempt(0) / "code").symlink_to(outside)
    assert [run("remove", "one", *more).code for more in (["--keep-logs"], [])] == [0, 0]
    assert ((outside / "precious").exists(), there(surroundings)) == (True, set())


@pytest.mark.parametrize("odd", ["st_uid", "st_dev"])
def test_unexpected_entries_in_a_folder_are_refused(
    run: Runner,
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
    run("remove", "one").ends(4, "E592", "model")
    assert there(surroundings) == {"one"}


def test_a_mount_in_a_folder_is_refused(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of the same file system can be mounted there, too."""
    folder = ended("one")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"proc /proc proc rw 0 0\n/dev/sda1 {folder.path}/a\\040b ext4 rw 0 0\n", encoding="utf-8")
    monkeypatch.setattr(folder_removal, "MOUNTS", mounts)
    run("remove", "one").ends(4, f"error E592: {folder.path}/a b is a mount point")
    assert there(surroundings) == {"one"}


def test_an_interrupted_removal_is_completed_by_the_next_one(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended("one")
    ended("two")
    with monkeypatch.context() as patched:
        patched.setattr(removing, "delete", lambda _: False)
        run("remove", "one").ends(0, "could not be deleted yet")
    assert [name.startswith(folder_removal.HIDDEN) for name in there(surroundings) - {"two"}] == [True]
    assert "\none " not in run("list", "--all").out
    assert run("remove", "two").code == 0
    assert there(surroundings) == set()


def test_a_removal_that_is_interrupted_leaves_no_secrets(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that would have recorded the end, and removed them, stalls."""
    secrets = ended("one").secrets
    secrets.mkdir()
    (secrets / "key").write_text("a secret")
    monkeypatch.setattr(removing, "delete", lambda _: False)
    assert run("remove", "one").code == 0
    assert [path.name for path in surroundings.rglob("*.gone-*")]
    assert not list(surroundings.rglob("key"))


def test_a_job_with_an_unreadable_journal_is_not_removed(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path
) -> None:
    ended("one").journal.unlink()
    run("remove", "one").ends(5, "E594")
    assert there(surroundings) == {"one"}


def test_of_two_removals_one_reports_the_other(
    run: Runner, ended: Callable[..., JobFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, check = ended("one"), removing.check_removable

    def removed(_: JobFolder) -> None:
        check(folder)
        shutil.rmtree(folder.path)

    monkeypatch.setattr(removing, "check_removable", removed)
    run("remove", "one").ends(4, "E593", "is being removed by another process")


def test_another_users_job_is_refused(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended("one")
    run("list")
    real = os.geteuid()
    monkeypatch.setattr("paislurm.translator.app.paths.os.geteuid", lambda: real + 1)
    monkeypatch.setattr("paislurm.translator.app.paths.TRUSTED", real)
    monkeypatch.setattr("paislurm.translator.app.paths.replaceable", lambda _: iter(()))
    run("remove", "one").ends(4, "E541")
    assert there(surroundings) == {"one"}


def test_a_job_that_just_ended_can_be_removed(run: Runner, folder: JobFolder, slurm: FakeBackend) -> None:
    """The end is found out by the removal itself."""
    leave_result(folder)
    slurm.observations.clear()
    assert (run("remove", "demo").code, folder.path.exists()) == (0, False)


def test_the_total_size_of_a_group_is_reported(
    run: Runner, ended: Callable[..., JobFolder], surroundings: Path
) -> None:
    ended("one")
    rooms = [room_taken(str(ended(f"train-{number}", group="train").path)) for number in range(3)]
    files, size = sum(room.inodes for room in rooms), size_text(sum(room.size for room in rooms))
    shown = run("remove", "train", "--dry-run").out.splitlines()
    assert shown[-1] == f"would remove 3 jobs of group train ({size}, {files} files)"
    assert len(json.loads(run("remove", "train", "--dry-run", "--json").out)["removed"]) == 3
    lines = run("remove", "train", "one", "--yes").out.splitlines()
    assert (len(lines), lines[-1]) == (5, f"removed 3 jobs of group train ({size}, {files} files)")
    assert there(surroundings) == set()
