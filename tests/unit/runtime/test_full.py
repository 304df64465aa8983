"""A batch script whose folder takes nothing more says so, on its standard error and by its exit status."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .bash import sourced

FAKES = """
print_result() { echo result; }
clean_up_nodes() { :; }
handle_pending_signals() { :; }
PSL_ENTERED=1 PSL_ATTEMPT_FOLDER=$PWD PSL_SUBMIT_DIR=$PWD PSL_SECRET_NAMES=''
"""
SAYS = "its file system is full, or your quota there is used up"


def ended(
    folder: Path, code: str, *, full: bool, links: tuple[str, ...] = ("result.json.new", "room")
) -> tuple[int, str]:
    """Run the end of a script in a folder; return its status and errors.

    If the folder is `full`, no result is written: writes to `links` fail.
    """
    for name in links if full else ():
        (folder / name).symlink_to("/dev/full")
    argv = ["bash", "-p", "-c", f"set -u\n{sourced()}\n{FAKES}\n{code}"]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert not (folder / "room").exists()
    assert not (folder / "result.json.new").exists()
    assert (folder / "result.json").exists() is not full
    return done.returncode, done.stderr


@pytest.mark.parametrize(("outcome", "status"), [("failed", 7), ("succeeded", 0), ("interrupted", 3)])
def test_an_unwritable_result_is_reported(tmp_path: Path, outcome: str, status: int) -> None:
    """What sacct can tell by itself, it tells: that it succeeded, or was ended from outside."""
    code, errors = ended(tmp_path, f"PSL_OUTCOME={outcome}; finish", full=True)
    assert code == status
    assert f"error: cannot write {tmp_path}/result.json: {SAYS}\n" in errors


@pytest.mark.parametrize(("head", "status"), [("echo 'head: write error: Disk quota exceeded' >&2", 7), ("true", 1)])
def test_a_result_that_is_lost_at_close_is_not_put_in_place(tmp_path: Path, head: str, status: int) -> None:
    """NFS may report a used-up quota at close only: these functions stand in for a close that loses a part."""
    fakes = f"""
    printf() {{ builtin printf "$@"; if [[ -e result.json.new ]]; then echo res >result.json.new; fi; }}
    head() {{ {head}; }}
    PSL_OUTCOME=failed; finish"""
    code, errors = ended(tmp_path, fakes, full=True, links=())
    assert (code, SAYS in errors) == (status, status == 7)
    assert f"error: cannot write {tmp_path}/result.json" in errors


def test_a_written_result_gives_the_usual_exit_code(tmp_path: Path) -> None:
    assert ended(tmp_path, "PSL_OUTCOME=failed; finish", full=False) == (1, "")


def test_a_start_failure_on_a_full_disk_has_its_own_code(tmp_path: Path) -> None:
    code, errors = ended(tmp_path, 'die "cannot write to here"', full=True)
    assert code == 7
    assert f"error: cannot write to here: {SAYS}\n" in errors
    assert "failed (code -1406)" in errors


def test_other_start_failures_have_the_general_code(tmp_path: Path) -> None:
    code, errors = ended(tmp_path, 'die "cannot write to here" 254', full=False)
    assert (code, "failed (code 254): cannot write to here\n" in errors, SAYS in errors) == (4, True, False)
