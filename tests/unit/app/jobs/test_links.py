"""Links in the folder of the jobs: a job behind one is listed as damaged, and no other job suffers from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from paislurm.translator.state.job_folder import JobFolder

from ...cli.running import ME
from ...monitor.jobs import FakeBackend
from ..asked import Asked


def to_itself(_: JobFolder, damaged: Path) -> None:
    damaged.mkdir()
    (damaged / "journal.jsonl").symlink_to("journal.jsonl")


def to_a_moved_folder(job: JobFolder, damaged: Path) -> None:
    moved = job.path.parents[2] / "elsewhere"
    moved.mkdir()
    (moved / "journal.jsonl").write_bytes(job.journal.read_bytes())
    damaged.symlink_to(moved)


def to_another_journal(job: JobFolder, damaged: Path) -> None:
    damaged.mkdir()
    (damaged / "journal.jsonl").symlink_to(job.journal)


@pytest.mark.parametrize("plant", [to_itself, to_a_moved_folder, to_another_journal])
def test_a_link_stops_no_other_job(
    asked: Asked, folder: JobFolder, slurm: FakeBackend, plant: Callable[[JobFolder, Path], None]
) -> None:
    plant(folder, folder.path.with_name(f"{ME.partition('~')[0]}~odd"))
    listed = asked.jobs.list(everything=True)
    why = str([line.reason for line in listed.value]) + listed.err
    assert (listed.code, "symbolic link" in why or "cannot be read" in why) == (0, True)
    assert asked.jobs.monitor().code == 0
    for done in (asked.jobs.status("demo"), asked.jobs.cancel("demo")):
        assert (done.code, "odd" in done.out) == (0, False), done
    assert slurm.cancelled
    odd = asked.jobs.status("odd")
    assert (odd.code, "is a symbolic link, which is not followed" in odd.err) == (4, True), odd
