"""When would it start: what `submit --test-only` says is so."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.jobs import ONE_ATTEMPT, role
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.cluster import Cluster
    from tests.contract.site import Site

pytestmark = pytest.mark.exclusive

GPUS = role("worker", 1, "sleep 600").replace("gpu: 0", "gpu: 2")
HET = role("server", 1, "true").replace("cpu: 1", "cpu: 16") + role("worker", 2, "true").replace("cpu: 1", "cpu: 16")
"""Two roles whose tasks have nodes of their own: a component for each."""


@pytest.fixture
def idle(site: Site) -> Iterator[Cluster]:
    """A cluster without a job before and after, in which all nodes are in order again."""
    cluster = site.administrator
    cluster.cancel_all()
    cluster.wait_idle()
    yield cluster
    cluster.cancel_all()
    cluster.wait_idle()


def asked(site: Site, folder: Path, roles: str, *, extras: str = "", partition: str = "") -> tuple[str, dict[str, Any]]:
    """Ask when a job would start; return the words, and the document; nothing of the job is left."""
    profile = site.profile.replace("normal", partition) if partition else site.profile
    job = replace(site, profile=profile).described(folder, "tried", roles, extras)
    words = ("submit", "--test-only", "tried.yaml")
    reported, document = (job.paislurm(*words, *more) for more in ((), ("--json",)))
    assert (reported.returncode, document.returncode) == (0, 0), reported.stderr
    assert not (job.home / "jobs").exists()
    return reported.stdout, json.loads(document.stdout)


def fill(cluster: Cluster, *options: str) -> str:
    """Submit a job that lasts, without paislurm; return its number when Slurm has put it where it goes."""
    script = "#!/bin/bash\nsleep 600\n"
    done = cluster.run(["sbatch", "--parsable", "--mem=100", "--time=100", *options], stdin=script, check=True)
    return str(done.stdout.strip())


def state(cluster: Cluster, number: str) -> str:
    return "".join(row["State"] for row in cluster.squeue(number))


def test_an_idle_cluster(site: Site, folder: Path, idle: Cluster) -> None:
    text, document = asked(site, folder, GPUS)
    assert text == "tried would start at once on n1 in partition normal (Slurm's estimate)\n"
    assert (document["at_once"], document["expected_wait"], document["reason"]) == (True, 0, None)
    assert (document["expected_nodes"], document["expected_partition"]) == ("n1", "normal")
    assert not idle.squeue()


def test_both_layouts(site: Site, folder: Path, idle: Cluster) -> None:
    job = site.described(folder, "tried", HET, settings=f"{ONE_ATTEMPT}scheduler: {{backfillInterval: 30}}\n")
    words = ("plan", "tried.yaml", "--test-only")
    text = job.paislurm(*words).stdout
    shared, het = [line for line in text.splitlines() if line.startswith("layout ")][1:]
    assert shared.startswith("layout shared would start at once on ")
    assert shared.endswith(" in partition normal (Slurm's estimate)")
    assert het.startswith("layout het would start at once on ")
    assert het.endswith("; the start comes with the next run of the backfill scheduler within 30 s")
    document = json.loads(job.paislurm(*words, "--json").stdout)
    assert [each["estimate"]["at_once"] for each in document["layouts"]] == [True, True]
    assert not idle.squeue()


def test_a_full_cluster(site: Site, folder: Path, idle: Cluster) -> None:
    running = fill(idle, "--nodes=2", "--exclusive", "--partition=pair")
    wait_until(lambda: state(idle, running) == "RUNNING", "the partition to be full")
    text, document = asked(site, folder, GPUS, partition="pair")
    assert text.startswith("tried would start at 20")
    assert "partition pair (Slurm's estimate)" in text
    assert 5000 < document["expected_wait"] < 13000
    assert not document["at_once"]


def test_estimate_of_a_heterogeneous_job_is_per_component(site: Site, folder: Path, idle: Cluster) -> None:
    number = fill(idle, "--exclusive", "--nodelist=n1")
    wait_until(lambda: state(idle, number) == "RUNNING", "a node to be taken")
    text, document = asked(site, folder, HET, extras="{slurm: {layout: het}}")
    assert text.startswith("tried would start at once on n[2-")
    assert "in partition normal (Slurm's estimate); each of the 2 components alone" in text
    assert (document["component_count"], document["expected_partition"]) == (2, None)
