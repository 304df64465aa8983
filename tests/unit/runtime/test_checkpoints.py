"""The time of a job's newest checkpoint."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .bash import run

FIND = 'PSL_SUBMIT_DIR=$1 PSL_CHECKPOINTS=$2; find_checkpoint; printf "%s" "$PSL_NEWEST"'


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return a submit folder whose name is a pattern, with checkpoints of several ages."""
    folder = tmp_path / "my [ab] runs"
    for name, time in (("a/step 1.pt", 1000), ("a/step 2.pt", 3000), ("b/step 3.pt", 2000), ("a/other", 9000)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (time, time))
    (folder / "c").mkdir()
    (folder / "c/step 9.pt").symlink_to("nowhere")
    return folder


@pytest.mark.parametrize(
    ("pattern", "newest"),
    [
        ("./*/step*.pt", "3000"),
        ("./b/*.pt", "2000"),
        ("./c/*", ""),
        ("./none/*", ""),
        ("./a/step 1.pt", "1000"),
        ("./$(touch never)", ""),
        ("./`touch never`/*", ""),
    ],
)
def test_the_newest_match_counts(runs: Path, pattern: str, newest: str) -> None:
    assert run(FIND, str(runs), pattern) == newest
    assert not list(runs.rglob("never"))


def test_an_absolute_pattern_needs_no_submit_folder(runs: Path) -> None:
    assert run(FIND, "/", str(runs).replace("[ab]", "*") + "/a/step*") == "3000"


def test_folders_count(runs: Path) -> None:
    os.utime(runs / "b", (5000, 5000))
    os.utime(runs / "a", (4000, 4000))
    assert run(FIND, str(runs), "./[ab]") == "5000"


def test_a_missing_submit_folder_has_no_checkpoint(tmp_path: Path) -> None:
    assert run(f"exec 2>/dev/null; {FIND}", str(tmp_path / "gone"), "./*") == ""


def test_only_a_job_with_checkpoints_looks_for_them() -> None:
    from paislurm.translator.rendering.runtime_bundle import ALL_USES, runtime

    assert "find_checkpoint" in runtime(("checkpoints",))
    without = runtime(tuple(use for use in ALL_USES if use != "checkpoints"))
    assert not [word for word in ("find_checkpoint", "resumed_from", "PSL_CHECKPOINT") if word in without]
