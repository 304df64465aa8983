"""The addresses of jobs: names with numbers, the newest job of a name, and the number of the next one."""

from __future__ import annotations

import math
from pathlib import Path
from unittest.mock import Mock

import pytest

from paislurm.translator.app.submit import new_folder
from paislurm.translator.app.submit.new_folder import STALLED_SECONDS, undo
from paislurm.translator.state.address import Address, keep_number, newest, parse, publish, stage
from paislurm.translator.state.folder_removal import hide
from paislurm.translator.state.job_folder import JobFolder, Store

from ..monitor.jobs import CREATED, INTENT, job_folder


@pytest.mark.parametrize(
    ("folder", "name", "number"),
    [
        ("alice~demo", "alice~demo", 1),
        ("alice~demo@2", "alice~demo", 2),
        ("alice~demo@999999999", "alice~demo", 999999999),
        ("alice~demo.1", "alice~demo.1", 1),
        ("alice~demo.1@2", "alice~demo.1", 2),
        ("alice@site.org~demo", "alice@site.org~demo", 1),
        ("alice@2~demo", "alice@2~demo", 1),
        ("alice@2~demo@3", "alice@2~demo", 3),
        ("alice~a~b@2", "alice~a~b", 2),
        *((name, name, 1) for name in ("alice@2", "alice~demo@", "alice~demo@0", "alice~demo@02", "alice~demo@x2")),
        *((name, name, 1) for name in ("alice~demo@2 ", "alice~demo@-2", "alice~demo@\u0662", "alice~demo@1234567890")),
    ],
)
def test_the_last_at_sign_of_a_folder_counts(folder: str, name: str, number: int) -> None:
    assert (parse(folder), str(parse(folder))) == (Address(name, number), folder)


def test_the_newest_job_of_each_name_has_the_highest_number() -> None:
    folders = ["a~x@10", "a~x@9", "a~x", "a~y", "a~x.1", "a~z@3", "b~x@2", "b@2~x"]
    found = {"a~x": "a~x@10", "a~y": "a~y", "a~x.1": "a~x.1", "a~z": "a~z@3", "b~x": "b~x@2", "b@2~x": "b@2~x"}
    assert newest(folders) == found


FOLDERS = ("alice~demo", "alice~demo@2", "alice~demo@3", "alice~demo.1", "alice~old.1", "alice~old.1@2", "bob~demo@2")
BY_BOB = (*FOLDERS, "bob~own", "bob~own@2", "alice~lost@2")


@pytest.mark.parametrize(
    ("address", "user", "found"),
    [
        ("demo", "alice", "alice~demo@3"),
        ("demo@1", "alice", "alice~demo"),
        ("demo@2", "alice", "alice~demo@2"),
        ("demo.1", "alice", "alice~demo.1"),
        ("old.1", "alice", "alice~old.1@2"),
        ("old.1@1", "alice", "alice~old.1"),
        *((folder, user, folder) for folder in FOLDERS for user in ("alice", "bob")),
        ("alice~demo@1", "bob", "alice~demo"),
        ("demo", "bob", "bob~demo@2"),
        ("bob~demo", "alice", "bob~demo@2"),
        ("own", "alice", "bob~own@2"),
        ("own@2", "alice", "bob~own@2"),
        ("lost", "alice", "alice~lost@2"),
        ("alice~lost", "bob", "alice~lost@2"),
    ],
)
def test_a_name_is_the_newest_job_and_the_name_of_a_folder_is_that_job(
    tmp_path: Path, address: str, user: str, found: str
) -> None:
    store = Store(tmp_path)
    for name in BY_BOB:
        job_folder(store.jobs, CREATED, name=name)
    assert store.find(address, user=user).name == found


def test_the_removal_of_the_newest_job_leaves_its_number_behind(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for name in ("alice~demo", "alice~demo@2", "alice~demo-b", "alice~demo@x~c@7"):
        job_folder(store.jobs, CREATED, name=name)
    for removed, next_number, newest_number in ((2, 3, 1), (1, 3, 0)):
        assert hide(JobFolder(path=store.jobs / str(Address("alice~demo", removed))))
        found, free = store.newest_and_free("alice~demo")
        assert (free.name, (found and parse(found.name).number) or 0) == (f"alice~demo@{next_number}", newest_number)
    job_folder(store.jobs, CREATED, name="alice~demo@3")
    assert hide(JobFolder(path=store.jobs / "alice~demo@3"))
    assert store.names() == ["alice~demo-b", "alice~demo@x~c@7"]


def test_a_full_disk_does_not_keep_a_job_from_being_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails = Mock(side_effect=OSError(122, "Disk quota exceeded"))
    monkeypatch.setattr("paislurm.translator.state.address.append_line", fails)
    folder = job_folder(tmp_path, CREATED)
    assert (bool(hide(folder)), folder.path.exists(), hide(folder)) == (True, False, None)


@pytest.mark.parametrize(("seconds", "next_number"), [(0, 1), (STALLED_SECONDS + 1, 2), (math.inf, 2)])
def test_an_undone_submit_frees_its_path_only_while_no_other_process_acts_on_the_job(
    tmp_path: Path, seconds: float, next_number: int
) -> None:
    store = Store(tmp_path)
    undo(job_folder(store.jobs, CREATED, INTENT), seconds)
    _, free = store.newest_and_free("alice~demo")
    assert (store.names(), parse(free.name)) == ([], Address("alice~demo", next_number))


def test_the_path_of_a_submit_that_is_undone_meanwhile_is_the_free_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the next number there would be two living jobs of the name, if another submit gets the path."""

    def undone(_: object, folder: JobFolder) -> None:
        undo(folder, 0)
        raise FileNotFoundError

    monkeypatch.setattr(new_folder, "refresh", undone)
    store = Store(tmp_path)
    job_folder(store.jobs, CREATED, name="alice~demo")
    assert new_folder.place_for(Mock(store=store), "alice~demo").folder.name == "alice~demo"


@pytest.mark.parametrize("meanwhile", ["another has it", "it was removed", "it was removed, and the next one has come"])
def test_a_submit_that_stalls_until_its_path_was_used_gives_it_back(tmp_path: Path, meanwhile: str) -> None:
    """Of two submits that look at once, one wins, even if its job has ended and been removed by then."""
    store = Store(tmp_path)
    job_folder(store.jobs, CREATED, name="alice~demo")
    free, staged = store.newest_and_free("alice~demo")[1], stage(store, {"job.yaml": b"x"})
    other = job_folder(store.jobs, CREATED, name="alice~demo@2")
    if "removed" in meanwhile:
        assert hide(other)
    if "next" in meanwhile:
        keep_number(job_folder(store.jobs, CREATED, name="alice~demo@3").path)
    before = store.names()
    assert (publish(staged, free), store.names(), (staged / "job.yaml").read_bytes()) == (False, before, b"x")
    again = store.newest_and_free("alice~demo")[1]
    assert (publish(staged, again), again.name) == (True, "alice~demo@4" if "next" in meanwhile else "alice~demo@3")
