"""Which folder a user means, and how folders come and go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.translator.errors import FolderError, NotFoundError
from paislurm.translator.files.private import write_durably
from paislurm.translator.state import address
from paislurm.translator.state.address import publish, stage
from paislurm.translator.state.job_folder import JobFolder, Store

from ..monitor.jobs import CREATED, ENDED, INTENT, SUBMITTED, job_folder


def test_a_job_is_found_by_name_full_name_and_id(tmp_path: Path) -> None:
    store = Store(tmp_path)
    mine = job_folder(store.jobs, CREATED, INTENT, SUBMITTED)
    hers = job_folder(store.jobs, CREATED, INTENT, name="bob~demo")
    only = job_folder(store.jobs, CREATED, INTENT, name="bob~other")
    (store.jobs / ".new-1").mkdir()
    (store.jobs / "no-job").mkdir()
    ids = ("7", "7+1", "7.batch", "7+1.0")
    of_alice = {address: store.find(address, user="alice") for address in ("demo", "other", *ids)}
    assert of_alice == {"demo": mine, "other": only, **dict.fromkeys(ids, mine)}
    assert [store.find(address, user="bob") for address in ("demo", "alice~demo")] == [hers, mine]


def test_of_two_jobs_with_one_id_the_unfinished_or_newest_is_found(tmp_path: Path) -> None:
    store = Store(tmp_path)
    old = job_folder(store.jobs, SUBMITTED, ENDED, name="alice~a")
    new = job_folder(
        store.jobs, replace(SUBMITTED, happened_at=SUBMITTED.happened_at + 5), replace(ENDED), name="alice~b"
    )
    assert store.find("7", user="alice") == new
    with old.journal.open("r+b") as file:
        file.truncate(file.read().index(b"\n") + 1)
    assert store.find("7", user="alice") == old


def test_a_claim_is_taken_once(tmp_path: Path) -> None:
    folder = job_folder(tmp_path, CREATED, INTENT)
    folder.attempt(0).mkdir(parents=True, exist_ok=True)
    assert folder.take_claim(0, 180)
    assert not folder.take_claim(0, 180), "a job may have made it a moment ago, and not yet written its id"
    assert folder.take_claim(0, -1)
    folder.claim(0).write_text("7 0")
    assert not folder.take_claim(0, -1)


@pytest.mark.parametrize("address", ["", ".", "..", "../jobs", "/etc", "alice~", "a\0b", "99", "demp", "~"])
def test_a_missing_job_is_not_found(tmp_path: Path, address: str) -> None:
    store = Store(tmp_path)
    job_folder(store.jobs, CREATED, INTENT, SUBMITTED)
    with pytest.raises(NotFoundError) as caught:
        store.find(address, user="alice")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E520"
    if address == "demp":
        assert diagnostic.hint == "did you mean `demo`?"


def test_an_empty_home_has_no_jobs(tmp_path: Path) -> None:
    assert Store(tmp_path / "nothing").all() == []


def test_a_folder_is_created_privately_and_moved_into_place_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "home")
    staged = stage(store, {"job.yaml": b"x", "attempts/0/job.sbatch": b"y"})
    _, folder = store.newest_and_free("alice~demo")
    modes = {path.stat().st_mode & 0o777 for path in (store.home, store.jobs, *staged.rglob("*")) if path.is_dir()}
    assert modes == {0o700}
    assert publish(staged, folder)
    assert folder.script(0).read_bytes() == b"y"
    again = stage(store, {"job.yaml": b"z"})
    assert not publish(again, folder)
    assert (folder.path / "job.yaml").read_bytes() == b"x"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def fails(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(address.os, "fsync", fails)
    with pytest.raises(OSError, match="No space left"):
        write_durably(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_home_that_cannot_be_created_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FolderError) as caught:
        stage(Store(tmp_path / "file" / "home"), {"job.yaml": b""})
    assert str(tmp_path / "file") in caught.value.diagnostics[0].message


@contextmanager
def opened(folder: JobFolder) -> Iterator[int]:
    """Hold a descriptor of a job folder."""
    descriptor = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)
