"""What an administrator types to see what users run: the lines of the page, on each Slurm."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.instance import ALICE
from tests.cluster.jobs import role
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster
    from tests.contract.site import Site

PAGE = Path(__file__).parents[2] / "docs/how-to/cluster/operations.md"
SQUEUE, SACCT = re.findall(r"^\$ (s(?:queue|acct) .*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_an_administrator_sees_what_users_run(site: Site, folder: Path, installed: Cluster) -> None:
    name = f"seen-{os.getpid()}"

    def rows(line: str) -> list[list[str]]:
        done = installed.admin(["bash", "-c", line], check=False)
        return [row.split("|") for row in done.splitlines() if f"|{name}|" in row]

    waits = role("a", 1, "until [ -e go ]; do sleep 0.2; done")
    job = site.described(folder, name, waits, "{slurm: {workdir: submit}}")
    assert job.paislurm("submit", str(job.file)).returncode == 0
    other = site.run("sbatch", "--parsable", f"--job-name={name}", "--wrap=true", cwd=folder)
    assert other.returncode == 0, other.stderr
    wait_until(lambda: "RUNNING" in str(rows(SQUEUE)), "the job runs")
    ((user, number, _, state, tag),) = rows(SQUEUE)
    assert (user, state) == (site.user, "RUNNING")
    site.write(folder, "go", "")
    assert job.ended()[0] == 0
    wait_until(lambda: "COMPLETED" in str(rows(SACCT)), "the accounts have its end")
    ((user, id_in_accounts, _, state, line),) = rows(SACCT)
    assert (user, id_in_accounts, state) == (site.user, number, "COMPLETED")
    assert line.endswith(f"/jobs/{ALICE}~{name} 0 {tag}")
