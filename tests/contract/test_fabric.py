"""Open MPI with the variables of InfiniBand: whatever its release is, it takes them without a warning.

The adapters are files in a tree of the test, so that the variables of UCX, which would look for them, are left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import yaml

from paislurm.translator.shipped import shipped_table
from tests.cluster.jobs import ONE_ATTEMPT, role
from tests.contract.test_calls import BARRIER, compiled

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

SITE = """\
infiniband:
  adapters: [mlx5_0]
  interface: ib0
  ethernet: eth0
  memlockMB: 1
  sysfs: SYSFS
  variables: {enabled: {UCX_NET_DEVICES: null}}
"""
ON = "    extraContainerOptions: {infiniband: true}\n"


def settings(site: Site, folder: Path) -> str:
    sysfs = folder / "sys"
    port = sysfs / "infiniband/mlx5_0/ports/1"
    site.run("mkdir", "-p", str(port), str(sysfs / "net/ib0"), str(sysfs / "net/eth0"))
    site.write(port, "state", "4: ACTIVE\n")
    return ONE_ATTEMPT + SITE.replace("SYSFS", str(sysfs))


@pytest.mark.parametrize("use", ["enabled", "disabled"])
def test_open_mpi_takes_the_variables_without_a_warning(site: Site, folder: Path, use: str) -> None:
    """Off InfiniBand its ranks are in two tasks, and have only TCP."""
    assert site.cluster
    six = "Open MPI v6" in site.run("ompi_info", "--version").stdout
    hosts = f"{'localhost' if six else 'w-0'}:2,w-1:2"
    # The ranks of one task use shared memory, unless it is taken from them.
    where = f"-H {hosts} --mca btl tcp,self -np 4" if use == "disabled" else "-np 2"
    options = "--bind-to none" + (" --map-by slot" if use == "disabled" else "")
    command = f"if ((PAI_TASK_INDEX)); then sleep infinity; fi; mpirun {options} {where} {compiled(site)}"
    roles = role("w", 2 if use == "disabled" else 1, command, succeeded=1, more=ON if use == "enabled" else "")
    roles = roles.replace("memoryMB: 100", "memoryMB: 2000").replace("cpu: 1,", f"cpu: {9 if six else 2},")
    job = site.submit(folder, roles, BARRIER.replace("LAYOUT", "het"), settings(site, folder))
    code, _ = job.ended()
    out, errors = job.log("0-w/0"), job.log("0-w/0", "stderr.log")
    # On a busy machine Open MPI from 5 on finds a process group that its child has made already.
    errors = re.sub(r"^.* Warning: setpgid\(.*\n", "", errors, flags=re.MULTILINE)
    assert (code, errors) == (0, ""), out + errors
    count = 4 if use == "disabled" else 2
    assert len(re.findall(rf"^rank \d of {count} on ", out, re.MULTILINE)) == count


def test_open_mpi_has_the_switches_that_the_table_says(site: Site) -> None:
    """Of the components that Debian builds; `ompi_info` knows no switch of another."""
    release = re.search(r"Open MPI v(\d+)", site.run("ompi_info", "--version").stdout)
    assert release
    known = site.run("ompi_info", "--all", "--parsable").stdout
    rows = [row for group in shipped_table("translator/planning/infiniband.yaml") for row in group["variables"]]
    built = [row for row in rows if re.match(r"OMPI_MCA_(pml|btl)", row["name"])]
    assert len(built) == 5, yaml.safe_dump(rows)
    for row in built:
        has = f":{row['name'].removeprefix('OMPI_MCA_')}:value:" in known
        assert has is (int(release[1]) in row["mpi"]), row
