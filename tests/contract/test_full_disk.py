"""A file system that is full: that of the run folder, or the one that commands write to. It is named, with the cure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import role
from tests.cluster.processes import wait_until
from tests.cluster.sharing import small_file_system
from tests.contract.site import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.contract.site import Job, Site

LATER = "{slurm: {options: [--begin=now+8]}}"


@pytest.fixture
def small(site: Site, folder: Path) -> Iterator[Path]:
    """A folder of the user's on a file system of 4 MiB."""
    with small_file_system(site.administrator.instance) as place:
        path = site.administrator.seen(place / folder.name[-30:])
        site.own(path)
        yield place / folder.name[-30:]


def fill(site: Site, small: Path) -> None:
    assert "No space left on device" in site.run("sh", "-c", f"cat /dev/zero >{small}/fill").stderr


def make_room(site: Site, small: Path) -> None:
    for path in site.administrator.seen(small).rglob("fill"):
        path.unlink()


def is_gone(site: Site, job: Job) -> bool:
    return not site.run("squeue", "--noheader", "--name", job.name).stdout


def check(site: Site, job: Job, small: Path) -> None:
    """The cause is named while there is no room, and as the end of the job once there is some."""
    wait_until(lambda: is_gone(site, job), f"the end of {job.name}", LONGEST)
    wait_until(lambda: "FolderFull" in job.paislurm("status", "--", job.name).stdout, "what Slurm says of it", LONGEST)
    shown = job.paislurm("status", "--", job.name).stdout
    assert "its file system or a quota was full" in shown
    assert re.search("likely +no space in ", shown)
    assert ": its file system has only 0.0 MiB left\n" in shown
    assert "`paislurm list --columns name,size`" in shown
    make_room(site, small)
    done = job.paislurm("wait", "--", job.name)
    assert (done.returncode, "code -1406, FolderFull)" in done.stderr) == (1, True), done.stderr
    assert "its file system or a quota was full" in done.stderr
    assert "there is no room" not in done.stderr
    assert "PAISLURM_HOME" in done.stderr


def test_a_home_that_fills_up_while_the_job_runs(site: Site, folder: Path, small: Path) -> None:
    command = "cat /dev/zero >fill || true; sleep 1; exit 3"
    job = site.submit(folder, role("t", 1, command), env={"PAISLURM_HOME": str(small)})
    check(site, job, small)


def test_a_home_that_fills_up_before_the_job_begins(site: Site, folder: Path, small: Path) -> None:
    job = site.submit(folder, role("t", 1, "echo never"), LATER, env={"PAISLURM_HOME": str(small)})
    fill(site, small)
    check(site, job, small)
