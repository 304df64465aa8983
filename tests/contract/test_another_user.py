"""Another user of the cluster, who can rename a folder above that of a job while the job waits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.cluster.instance import GROUP_ID
from tests.cluster.jobs import BOTH, role
from tests.cluster.processes import wait_until

from .site import LONGEST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

HERS = "#!/bin/bash\nid -un >>{victim}; date >>{victim}\n"


@BOTH
@pytest.mark.parametrize("mode", [0o777, 0o2770])
def test_run_folder_replaced_by_another_user_is_not_executed(site: Site, folder: Path, layout: str, mode: int) -> None:
    """The folder of the project was closed at the submit; else paislurm would have refused the home."""
    site.require("another user")
    cluster = site.administrator
    project, victim = folder / "project", folder / "victim"
    site.own(project)
    extras = f"{{slurm: {{layout: {layout}, options: [--begin=now+1hour]}}}}"
    job = site.submit(project, role("a", 1, "true") + role("b", 1, "true"), extras)
    number = job.number
    os.chown(project, 0, GROUP_ID)
    for above, bits in ((folder, 0o755), (project, mode)):
        above.chmod(bits)
    reported = job.paislurm("status", job.name)
    assert (reported.returncode, "error E542" in reported.stderr) == (4, True)
    place, attempt = job.folder, job.attempt()
    steal = f"""
        mv {place} {place}.hers && umask 0 && mkdir -p {attempt}/claim && cd {attempt} &&
        for name in job.sbatch placement.sh ../../monitor-call; do printf %s "$1" >$name && chmod 755 $name; done
    """
    cluster.run(["bash", "-c", steal, "steal", HERS.format(victim=victim)], user="bob", check=True)
    for component in (number, f"{number}+1")[: 1 + (layout == "het")]:
        # The second may have started with the first.
        cluster.admin(["scontrol", "update", f"JobId={component}", "StartTime=now"], check=component == number)

    def has_ended() -> bool:
        reported = cluster.admin(["sacct", "-XnP", f"--jobs={number}", "--format=State,ExitCode"]).splitlines()
        return bool(reported) and not any(row.startswith(("PENDING", "RUNNING")) for row in reported)

    wait_until(has_ended, "the job to end", LONGEST)
    assert not victim.exists()
    assert "is another user's, or a link; nothing has run" in (attempt / "slurm.log").read_text()
