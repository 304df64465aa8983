"""A site on which each job has a /tmp of its own on each node, by a namespace plugin of Slurm.

On a busy machine that plugin fails at times in the namespaces that stand for hosts here ("container_p_join: open
failed"), and jobs with it: `make chaos` runs this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import role
from tests.cluster.kinds import KINDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

KIND = KINDS["private"]
PROFILE = """\
partitions: {normal: {nodes: [{count: 1, cpus: 16, memoryMB: 1000000}]}}
defaultPartition: normal
time: {grace: 5, killWait: 5}
"""


@pytest.mark.chaos("Slurm's own plugin fails at times in these hosts")
def test_private_tmp_is_shared_within_the_job_only(site: Site, folder: Path) -> None:
    """Its tasks, the batch script and commands that come in later share that; nobody else sees it."""
    command = "touch /tmp/of-job-$PAI_TASK_INDEX; echo up; sleep infinity"
    job = site.submit(folder, role("a", 2, command) + role("b", 1, "echo up; sleep infinity"))
    job.wait_for("up", "0-a/0", "0-a/1", "1-b/0")
    done = job.paislurm("exec", job.name, "b-0", "ls", "/tmp/of-job-0", "/tmp/of-job-1")
    assert (done.returncode, done.stdout) == (0, "/tmp/of-job-0\n/tmp/of-job-1\n"), done.stderr
    assert site.administrator.run(["ls", "/tmp"], host="n1").stdout == ""
    assert job.paislurm("cancel", job.name).returncode == 0
    assert job.over()[:2] == ("STOPPED", -210)
