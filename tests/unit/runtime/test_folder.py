"""The folder of a job that is removed, and its name made again, while its script is still tidying."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .bash import run

TIDY = """
SLURM_JOB_ID=1 PSL_CLUSTER='' PSL_JOB_NAME=demo PSL_SECRET_NAMES=token PSL_OUTCOME=succeeded
PSL_OUTCOME_REASON=done PSL_TASK_COUNT=0
PSL_ROLE_NAME=() PSL_INSTANCES=()
lay_out_attempt() { :; }
handle_pending_signals() { :; }
check_secrets() { :; }
check_shared_folder() { :; }; check_own_attempt() { :; }
open_folder "$1/demo" 0 tag
mv -- "$1/demo" "$1/demo.1"
mkdir -p "$1/demo/attempts/0" "$1/demo/secrets"
write_result
forget_secrets
"""


def test_the_result_goes_to_the_renamed_job_folder(tmp_path: Path) -> None:
    for folder in ("attempts/0", "secrets"):
        (tmp_path / "demo" / folder).mkdir(parents=True)
    run(TIDY, str(tmp_path))
    assert list((tmp_path / "demo/attempts/0").iterdir()) == []
    assert (tmp_path / "demo/secrets").is_dir()
    assert '"job_id": "1"' in (tmp_path / "demo.1/attempts/0/result.json").read_text()
    assert not (tmp_path / "demo.1/secrets").exists()


def test_a_folder_that_cannot_be_entered_gets_no_result(tmp_path: Path) -> None:
    code = """cd "$1"; decide() { :; }; clean_up_nodes() { :; }
    handle_pending_signals() { :; }; log() { printf '%s\\n' "$*"; }
    SLURMD_NODENAME=n1; (open_folder "$1/gone" 0 tag 2>/dev/null); echo "$?" """
    said = run(code, str(tmp_path)).splitlines()
    assert said == [f"error: n1 does not see {tmp_path}/gone, which all nodes have to share", "6"]
    assert list(tmp_path.iterdir()) == []


CLAIM = """PSL_ATTEMPT_FOLDER=$1 PSL_ATTEMPT=0 PSL_CLUSTER='' PSL_CLAIMED=''
log() { printf '%s\\n' "$*"; }
cd "$1"; SLURM_JOB_ID=$2; claim_attempt; printf 'claimed'"""


def test_one_job_claims_an_attempt_even_if_the_answer_to_mkdir_was_lost(tmp_path: Path) -> None:
    """NFS repeats the call then, and the folder exists already."""
    (tmp_path / "claim").mkdir()
    assert run(CLAIM, str(tmp_path), "7") == "claimed"
    assert (tmp_path / "claim/owner").read_text() == "7 0\n"
    assert run(f"({CLAIM}); printf '%s' \"$?\"", str(tmp_path), "8").splitlines() == [
        "attempt 0 belongs to job 7; this job, 8, is a duplicate and ends",
        "5",
    ]
    assert (tmp_path / "claim/owner").read_text() == "7 0\n"


def test_the_first_submit_folder_is_kept(tmp_path: Path) -> None:
    """A retry is submitted by a monitor from anywhere, and the first folder counts."""
    code = """SLURM_SUBMIT_DIR=/elsewhere; PSL_SECRET_NAMES=''
    enter_attempt() { :; }; claim_attempt() { :; }; handle_pending_signals() { :; }
    lay_out_attempt() { :; }; check_secrets() { :; }; check_shared_folder() { :; }; check_own_attempt() { :; }
    make_folder_by_hand() { printf '%s\\n' "$1"; }
    open_folder; open_folder "$1" 0 tag; printf '%s\\n' "$PSL_SUBMIT_DIR"
    printf '/it'"'"'s\\n here\\n' >"$1/submit-dir"; open_folder "$1" 1 tag; printf '%q' "$PSL_SUBMIT_DIR" """
    assert run(code, str(tmp_path)) == "/elsewhere\n/elsewhere\n$'/it\\'s\\n here\\n'"


TASK = """PSL_ATTEMPT_FOLDER=$1 PSL_ROLE=0 PSL_ROLE_NAME=(w) PSL_ROLE_FOLDER=(0-w) PSL_SLOT=3 PSL_ONE_LOG=0
SLURMD_NODENAME=n1 SLURM_STEP_ID=0 PSL_GANG=1 PSL_CONTAINER_RUNTIME=none
report() { printf '%s\\n' "$*"; }
report_evidence() { :; }
check_slot_node() { :; }
check_node_folder() { :; }
remove_logins() { :; }
read_late_term() { printf 'waits for a TERM of a command that never began\n'; }
read_clock() { PSL_NOW=7; }
run_task 3 0 2>&1
"""


def test_a_task_without_writable_folder_reports_it(tmp_path: Path) -> None:
    (tmp_path / "logs/0-w").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    (tmp_path / "work/0-w").touch()
    assert run(TASK, str(tmp_path)).splitlines() == ["start 0 3 3 0 n1 0 7", "exit 0 3 3 0 1 255 unknown 7 0"]
    said = (tmp_path / "logs/0-w/3.stderr.log").read_text()
    assert f"error: the task's folder {tmp_path / 'work/0-w/3'} cannot be made on n1\n" in said


def test_a_task_without_writable_logs_reports_it(tmp_path: Path) -> None:
    start, *_, said, end = run(TASK, str(tmp_path)).splitlines()
    assert (start, end) == ("start 0 3 3 0 n1 0 7", "exit 0 3 3 0 1 255 unknown 7 0")
    assert said == "paislurm: error: task w-3 cannot write to its logs on n1"


@pytest.mark.parametrize(("more", "said"), [(0, ""), (1, "codeDir has 200000001 bytes, more than the 200000000 ")])
def test_code_that_is_too_large_ends_the_job(tmp_path: Path, more: int, said: str) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    # Before coreutils 9.2, folders count too.
    empty = int(subprocess.run(["du", "-sb", str(folder)], capture_output=True, check=True).stdout.split()[0])
    with (folder / "data").open("wb") as data:
        data.truncate(200_000_000 + more - empty)
    (tmp_path / "link").symlink_to(folder)
    code = 'die() { printf "%s\\n" "$*"; exit 0; }; check_code_size "$1"'
    assert run(code, str(tmp_path / "link")).startswith(said)
    assert bool(run(code, str(tmp_path / "link"))) == bool(said)
