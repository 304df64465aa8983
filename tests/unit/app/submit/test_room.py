"""A home without room: the job is refused with numbers, and nothing is written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from paislurm.backends.runner import Completed
from paislurm.translator.app import room as room_module
from paislurm.translator.app.room import Room, no_room_text, quota_left, rooms
from paislurm.translator.errors import Diagnostic, UnreachableError

from ...monitor.jobs import FakeBackend
from ..asked import Asked

TOLD = """\
Disk quotas for user alice (uid 1001):
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
     fs:/home  900*  500  1000  1700000000  7  10  0  0
     /dev/sda1  12  0  0  0  3  0  0  0
"""
"""Source: quota(1) 4.06, --no-wrap --raw-grace."""


class Quota:
    """Answer as quota does, or not at all."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        assert argv[0] == "quota"
        if self.text is None:
            raise UnreachableError(Diagnostic(code="E502", message="no answer"))
        return Completed(status=1, stdout=self.text, stderr="")


def shown(monkeypatch: pytest.MonkeyPatch, **values: int) -> None:
    """Have every file system say what the test wants."""
    there = os.statvfs("/")
    fields = {name: getattr(there, name) for name in dir(there) if name.startswith("f_")} | values
    monkeypatch.setattr(os, "statvfs", lambda _: type("Status", (), fields))


@pytest.mark.parametrize(
    ("values", "code", "words"),
    [
        ({"f_bavail": 10, "f_frsize": 4096}, "E545", "MiB in "),
        ({"f_favail": 30, "f_files": 1000}, "E546", "the job needs about 35 files and folders in "),
    ],
)
def test_a_full_home_is_reported(
    asked: Asked, job: str, slurm: FakeBackend, surroundings: Path, monkeypatch: pytest.MonkeyPatch,
    values: dict[str, int], code: str, words: str,
) -> None:  # fmt: skip
    shown(monkeypatch, **values)
    for dry_run in (False, True):
        asked.jobs.submit(job, dry_run=dry_run).ends(4, f"error {code}: ", words, "but its file system ")
    assert (slurm.submissions, surroundings.exists()) == ([], False)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"f_bavail": 10, "f_frsize": 4096}, "its file system has only 0.0 MiB left"),
        ({"f_favail": 0, "f_files": 1000}, "its file system allows no more files or folders"),
    ],
)
def test_the_message_contains_the_space_left_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, int], words: str
) -> None:
    assert no_room_text(tmp_path / "gone", Quota("")) == ""
    shown(monkeypatch, **values)
    assert no_room_text(tmp_path / "gone", Quota("")) == f"no space in {tmp_path}/gone: {words}"


def test_a_file_system_without_counts_is_accepted(
    asked: Asked, job: str, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown(monkeypatch, f_files=0, f_favail=0, f_blocks=0, f_bavail=0)
    assert (asked.jobs.submit(job).code, len(slurm.submissions)) == (0, 1)


@pytest.mark.parametrize(
    ("device", "room"),
    [
        ("fs:/home", Room(whose="your quota", free_bytes=100 * 1024, free_inodes=3)),
        ("/dev/sda1", Room(whose="your quota")),
        ("/dev/sdb1", None),
    ],
)
def test_the_output_of_quota_is_parsed(device: str, room: Room | None) -> None:
    assert quota_left(TOLD, device) == room


def test_the_quota_and_the_file_system_both_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = f"none / rootfs rw 0 0\nfs:/home {tmp_path} nfs rw 0 0\nx {tmp_path}x nfs rw 0 0\n"
    (tmp_path / "mounts").write_text(mounts)
    monkeypatch.setattr(room_module, "_MOUNTS", tmp_path / "mounts")
    assert [room.free_inodes for room in rooms(tmp_path, Quota(TOLD))][1:] == [3]
    assert [len(list(rooms(tmp_path, Quota(text)))) for text in ("quota: none\n", None)] == [1, 1]
