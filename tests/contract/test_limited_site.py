"""A controller that holds few jobs and takes tokens, and a partition that accepts no job from the login node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paislurm.backends.runner import has_expired
from tests.cluster.jobs import role
from tests.cluster.kinds import KINDS
from tests.cluster.processes import wait_until
from tests.contract.site import LONGEST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

KIND = KINDS["limited"]
PROFILE = """\
partitions:
  normal: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}]}
  elsewhere: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}]}
defaultPartition: normal
time: {grace: 5, killWait: 5}
"""
FULL = 5
"""More jobs than the controller holds."""


@pytest.mark.exclusive
def test_a_full_controller_is_named_at_once_and_waited_for(site: Site, folder: Path) -> None:
    """Slurm's own sbatch tries again for two minutes, and says so once."""
    assert site.administrator
    try:
        for _ in range(FULL):
            site.run("timeout", "1", "sbatch", "--hold", "--output=/dev/null", "--wrap=true")
        job = site.described(folder, "late", role("w", 1, "true"), settings="retry: {submitWait: 0}\n")
        done = job.paislurm("submit", "late.yaml")
        assert done.returncode == 4
        assert "error E508" in done.stderr
        assert "MaxJobCount of `scontrol show config`" in done.stderr
        assert job.paislurm("list", "--all").stdout == ""
    finally:
        site.administrator.cancel_all()
    wait_until(lambda: not site.run("squeue", "--noheader", "--states=all").stdout, "the controller to forget", LONGEST)
    assert site.submit(folder, role("w", 1, "true")).over()[:2] == ("SUCCEEDED", 0)


def test_a_partition_that_accepts_no_job_from_here_is_explained(site: Site, folder: Path) -> None:
    job = site.described(folder, "there", role("w", 1, "true"), "{slurm: {partition: elsewhere}}")
    done = job.paislurm("submit", "there.yaml")
    assert (done.returncode, "there.yaml:" in done.stderr, "(AllocNodes)" in done.stderr) == (4, True, True)


def test_a_token_authenticates_the_commands_and_stays_out_of_the_job(site: Site, folder: Path) -> None:
    """With it srun could not start the tasks. Slurm answers neither a forged nor an expired token: the job goes on."""
    asked = ["scontrol", "token", "username=alice"]
    token, over = (
        site.administrator.admin([*asked, f"lifespan={seconds}"]).strip().removeprefix("SLURM_JWT=")
        for seconds in (LONGEST * 4, 1)
    )
    command = f"env | grep -c '^SLURM_JWT=' || echo up; until [ -e {folder}/go ]; do sleep 0.2; done"
    job = site.submit(folder, role("w", 1, command), env={"SLURM_JWT": token})
    job.wait_for("up", "0-w/0")
    wait_until(lambda: has_expired({"SLURM_JWT": over}), "the end of the token", LONGEST)
    for other in (f"{token[:-9]}forgotten", over):
        job.more = {"SLURM_JWT": other}
        shown = job.status()
        assert (shown["state"], bool(shown["backend_error"])) == ("RUNNING", True)
        assert job.paislurm("cancel", job.name).returncode == 6
    (folder / "go").touch()
    job.more = {"SLURM_JWT": token}
    assert job.over()[:2] == ("SUCCEEDED", 0)
    held = [path for path in job.home.rglob("*") if path.is_file() and token.encode() in path.read_bytes()]
    assert (held, token in job.log("0-w/0")) == ([], False)
