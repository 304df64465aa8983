"""`paislurm du`: how much room jobs take."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from paislurm.translator.app.jobs.folders.disk_use import size_text
from paislurm.translator.app.session import user_name
from paislurm.translator.state.tidying.removal import RoomTaken, room_taken

from ...monitor.jobs import CREATED, ENDED, INTENT, SUBMITTED, job_folder

if TYPE_CHECKING:
    from pathlib import Path

    from ..running import Runner

ME = user_name()


@pytest.fixture
def two(surroundings: Path) -> Path:
    """Make a small job and a large one."""
    for name, size in (("small", 1), ("large", 1 << 20)):
        folder = job_folder(surroundings, CREATED, INTENT, SUBMITTED, ENDED, name=f"{ME}~{name}")
        (folder.path / "data").write_bytes(b"x" * size)
    return surroundings


def test_the_largest_job_is_first_and_the_total_last(run: Runner, two: Path) -> None:
    assert two.is_dir()
    lines = [line.split() for line in run("du").out.splitlines()]
    assert [line[0] for line in lines] == ["job", "large", "small", "total"]
    assert [line[-1] for line in lines[1:]] == ["5", "5", "10"]


def test_json_has_bytes_and_inodes(run: Runner, two: Path) -> None:
    reported = json.loads(run("du", "--json").out)
    assert [job["name"] for job in reported["jobs"]] == [f"{ME}~large", f"{ME}~small"]
    expected = room_taken(str(two / f"{ME}~large"))
    assert (reported["jobs"][0]["size_bytes"], reported["jobs"][0]["inodes"]) == expected
    assert expected.size >= 1 << 20
    assert reported["total"]["size_bytes"] == sum(job["size_bytes"] for job in reported["jobs"])
    assert reported["remove_after"] is None
    assert len(json.loads(run("du", "sm*", "--json").out)["jobs"]) == 1


def test_a_symbolic_link_counts_as_itself(two: Path, tmp_path: Path) -> None:
    (tmp_path / "large").mkdir()
    (tmp_path / "large" / "data").write_bytes(b"x" * (1 << 20))
    job = two / f"{ME}~small"
    before = room_taken(str(job))
    (job / "link").symlink_to(tmp_path / "large")
    after = room_taken(str(job))
    assert after.inodes == before.inodes + 1
    assert after.size < before.size + (1 << 20)
    assert room_taken(str(tmp_path / "nothing")) == RoomTaken()


def test_automatic_removal_by_the_site_is_reported(
    run: Runner, two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert two.is_dir()
    assert "paislurm remove --older-than" in run("du").err
    (tmp_path / "site.yaml").write_text("jobs: {removeAfter: 4w}\n", encoding="utf-8")
    monkeypatch.setenv("PAISLURM_SITE", str(tmp_path / "site.yaml"))
    assert run("du").err == "the site removes jobs 28 d after their end\n"


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 KiB"), (512, "0.5 KiB"), (40960, "40 KiB"), (3 << 29, "1.5 GiB"), (9 << 50, "9216 TiB")]
)
def test_sizes_are_printed_in_short_form(size: int, text: str) -> None:
    assert size_text(size) == text


def test_a_group_row_shows_the_total_of_its_jobs(run: Runner, two: Path) -> None:
    for name in ("train-1", "train-2"):
        created = replace(CREATED, user=ME, job=name, group="train")
        sent = replace(SUBMITTED, user=ME, job=name, group="train")
        job_folder(two, created, INTENT, sent, ENDED, name=f"{ME}~{name}")
    rows = [re.split(" {2,}", line) for line in run("du", "train", "sm*").out.splitlines()]
    assert [row[0] for row in rows[1:]] == ["small", "train-1", "train-2", "group train, 2 jobs", "total"]
    by_name = {name: int(files) for name, _, files in rows[1:]}
    assert by_name["group train, 2 jobs"] == by_name["train-1"] + by_name["train-2"]
    assert by_name["total"] == by_name["group train, 2 jobs"] + by_name["small"]
    assert "group" not in run("du", "train-*").out
    assert len(json.loads(run("du", "train", "--json").out)["jobs"]) == 2
