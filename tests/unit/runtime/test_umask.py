"""The umask of the user's code: that of the job's first submit, or of the shell that called sbatch by hand."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .bash import sourced

PLACE = """
PSL_CLUSTER='' PSL_JOB_NAME=demo PSL_SECRET_NAMES='' PSL_ROLE_NAME=() SLURM_JOB_ID=7 SLURMD_NODENAME=n1
PSL_MAX_TRANSIENT_RETRIES=3 PSL_CHECKPOINTS=''
check_own_attempt() { :; }; check_own_name() { :; }; check_place() { :; }; handle_pending_signals() { :; }
forward_signals_to() { "$@"; }
run_attempt() {
  open_folder "$@"
  write_placement
  (open_attempt "$PSL_FOLDER" "$PSL_ATTEMPT" && set_user_umask && umask)
  umask
}
"""


def start(folder: Path, *argv: str, umask: int, code: str = "", **env: str) -> list[str]:
    """Run the start of the batch script; return the umask of the user's code and that of the script."""
    script = folder / "start.sh"
    script.write_text(f'{sourced(loss="requeue")}\n{PLACE}{code}\nstart_up "$@"\nbatch_main "$@"\n')
    done = subprocess.run(
        ["bash", str(script), *argv],
        umask=umask,
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.splitlines() or [done.stderr]


@pytest.mark.parametrize("umask", [0o002, 0o022, 0o077])
@pytest.mark.parametrize("exported", ["", "PSL_EXPORT_ENV='PATH'"], ids=["all", "some"])
def test_a_run_by_hand_has_the_umask_of_its_shell(tmp_path: Path, umask: int, exported: str) -> None:
    """Also if the script starts itself anew, without some variables."""
    assert start(tmp_path, umask=umask, code=exported, MINE="1") == [f"{umask:04o}", "0077"]


@pytest.mark.parametrize("umask", [0o002, 0o022, 0o077])
def test_each_attempt_and_restart_has_the_recorded_umask(tmp_path: Path, umask: int) -> None:
    """Whatever umask Slurm, a monitor or cron gives to the script."""
    job = tmp_path / "job"
    for attempt in ("0", "1"):
        (job / "attempts" / attempt).mkdir(parents=True)
        (job / "attempts" / attempt / "job.sbatch").touch()
    (job / "umask").write_text(f"{umask:04o}\n")
    expected = [f"{umask:04o}", "0077"]
    assert start(tmp_path, str(job), "0", "tag", umask=0o027) == expected
    (job / "attempts/0/claim/starts").write_text("100 null n1\n")
    assert start(tmp_path, str(job), "0", "tag", umask=0o077, SLURM_RESTART_COUNT="1")[-2:] == expected
    assert start(tmp_path, str(job), "1", "tag.1", umask=0) == expected


@pytest.mark.parametrize("make", ["make_output_folder", "make_own_storage"])
def test_folders_for_results_follow_the_umask(tmp_path: Path, make: str) -> None:
    """The default outputDir, and the user's part of a storage."""
    (tmp_path / "Output").mkdir()
    folder = tmp_path / "Output" / "alice" / "job"
    code = f"{sourced('apptainer')}\numask 0077\nPSL_UMASK=0002\n{make} {folder}\numask"
    done = subprocess.run(["bash", "-pc", code], capture_output=True, text=True, check=True)
    assert (done.stdout, folder.stat().st_mode & 0o777) == ("0077\n", 0o775), done.stderr
