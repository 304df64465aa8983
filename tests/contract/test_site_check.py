"""`site check`: what can never start is refused by the profile that `site detect` writes, each job with its reason."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.jobs import ROOT, job_text, role
from tests.cluster.sharing import small_file_system
from tests.contract.limits import limits
from tests.contract.test_examples import NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site


def roles(count: int = 1, *, instances: int = 1, cpu: int = 1, memory: int = 100, gpu: int = 0) -> str:
    """Return so many equal roles."""
    resources = f"{{cpu: {cpu}, memoryMB: {memory}, gpu: {gpu}}}"
    return "".join(
        role(f"r{number}", instances, "true").replace("{cpu: 1, memoryMB: 100, gpu: 0}", resources)
        for number in range(count)
    )


IMPOSSIBLE: dict[str, tuple[str, str, str, str]] = {
    "gpus": (roles(gpu=5), "", "E410", "and 5 GPUs does not fit partition normal"),
    "cpus": (roles(cpu=17), "", "E410", "a task of 17 CPUs"),
    "memory": (roles(memory=1000001), "", "E410", "1000001 MiB"),
    "nodes": (roles(instances=5, cpu=16), "", "E410", "5 tasks of 16 CPUs"),
    "sum": (roles(5, cpu=16), "", "E414", "its 5 tasks do not fit together"),
    "layout": (roles(5), "layout: het", "E411", "its 5 components share no node"),
    "time": (roles(), "time: 2-00:00:00", "E403", "more than partition normal allows (1-00:00:00)"),
    "partition": (roles(), "partition: nope", "E402", "no partition 'nope'; it has watched"),
    "account": (roles(), "account: nope", "E407", "no account 'nope'; it has extra, research, tight"),
    "qos": (roles(), "qos: nope", "E408", "no QOS 'nope'; it has high"),
    "qos-of-account": (roles(), "account: research, qos: narrow", "E408", "research cannot use the QOS 'narrow'"),
    "reservation": (roles(), "reservation: nope", "E409", "no reservation 'nope'; it has none"),
    "feature": (roles(), "constraint: v100|nope", "E420", "no node has the feature 'nope'"),
    "feature-elsewhere": (roles(), "partition: watched, constraint: ib", "E420", "no node of partition watched has ib"),
    "feature-count": (roles(instances=3, cpu=16), "constraint: ib", "E410", "with ib"),
    "allowed": (roles(), "partition: urgent", "E425", "urgent refuses the account 'research'; it accepts extra"),
    "most-nodes": (
        roles(instances=2, cpu=16),
        "partition: pair",
        "E424",
        "2 nodes, but at most 1 are allowed in partition",
    ),
    "account-cpus": (roles(instances=9), "account: tight", "E423", "9 CPUs, but the account tight allows 8"),
    "account-time": (roles(), "account: tight, time: 31", "E427", "than the account tight allows (00:30:00)"),
    "account-jobs": (roles(3), "account: tight, layout: het", "E428", "as 3 jobs, one per component"),
    "qos-gpus": (roles(gpu=3), "account: tight, qos: narrow", "E423", "3 GPUs, but the QOS narrow allows 2"),
    "mpi": (roles(), "mpi: {plugin: nope}", "E416", "'nope'"),
    "sku": (roles(gpu=1), "}, hivedScheduler: {taskRoles: {r0: {skuType: K80}}", "E405", "no node type 'K80'"),
    "cluster": (roles(), "", "E401", "no virtual cluster 'nope'"),
}
"""Job by name: its roles, its `extras.slurm`, the code, and words of the message."""


def checked(site: Site, folder: Path, *words: str, status: int) -> list[dict[str, Any]]:
    done = site.run("paislurm", "site", "check", "--json", "--site", "site.yaml", *words, cwd=folder)
    assert done.returncode == status, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["checked"]
    return found


@pytest.mark.exclusive
def test_impossible_jobs_are_refused_and_examples_are_not(site: Site, folder: Path) -> None:
    with limits(site.administrator):
        done = site.run("paislurm", "site", "detect", "--output", "site.yaml", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert site.run("paislurm", "site", "check", "--site", "site.yaml", cwd=folder).returncode == 0
        for name, (text, slurm, _, _) in IMPOSSIBLE.items():
            job = job_text(name, text, f"{{slurm: {{{slurm}}}}}")
            job += "defaults: {virtualCluster: nope}\n" if name == "cluster" else ""
            site.write(folder, f"{name}.yaml", job)
        found = checked(site, folder, *(f"{name}.yaml" for name in IMPOSSIBLE), status=4)
        for each, (_, _, code, words) in zip(found, IMPOSSIBLE.values(), strict=True):
            errors = [one for one in each["diagnostics"] if one["severity"] == "error"]
            assert [one["code"] for one in errors] == [code], each
            assert words in errors[0]["message"]
            assert errors[0]["hint"]
        for name in NAMES:
            site.write(folder, name, (ROOT / "examples" / name).read_text())
        fit = checked(site, folder, *NAMES, status=0)
        assert all(each["asks"] for each in fit)
    # What is gone again is told, and where in the profile it is.
    gone = site.run("paislurm", "site", "check", "--site", "site.yaml", cwd=folder)
    assert gone.returncode == 4
    assert "$.accounts.tight\nerror E465: the cluster has no account 'tight'; it has extra, research" in gone.stderr
    assert "$.qos.narrow\nerror E465: the cluster has no QOS 'narrow'" in gone.stderr


def test_a_home_that_is_full(site: Site, folder: Path) -> None:
    """On a file system of 4 MiB, of which half a MiB is left."""
    cluster = site.administrator
    job = site.described(folder, "full", roles())
    with small_file_system(cluster.instance) as small:
        home = small / folder.name
        job.more = {"PAISLURM_HOME": str(home)}
        status = os.statvfs(cluster.seen(small))
        free = status.f_bavail * status.f_frsize
        site.run("dd", "if=/dev/zero", f"of={home}.filler", "bs=4k", f"count={free // 4096 - 128}")
        for command in (("site", "check"), ("submit",)):
            done = job.paislurm(*command, "full.yaml")
            assert done.returncode == 4, done.stderr
            assert "error E545: the job needs 1." in done.stderr
            assert "but its file system has only 0.5 MiB left" in done.stderr
            assert not cluster.seen(home).exists()
