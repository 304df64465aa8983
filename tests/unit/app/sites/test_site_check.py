"""`paislurm site check`: what job files would have, what can never start, and what of a profile the cluster lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from paislurm.translator.app.sites import ask as ask_module
from paislurm.translator.site.detection.detect import detect
from paislurm.translator.site.differences import differences
from paislurm.translator.site.load import load_site
from paislurm.translator.site.profile import Scheduler, Site

from ...cli.running import JOB, job_file
from ...site.detection.answered import EXPECTED, recorded
from ..asked import Asked

LARGE = JOB.replace("cpu: 1", "cpu: 17").replace("name: demo", "name: large")
WRONG = JOB.replace("type: job", "type: jab")
FOUND = detect(recorded("22.05")).site


@pytest.fixture
def detected(tmp_path: Path) -> str:
    """Write the profile that was detected; return its path."""
    return job_file(tmp_path, EXPECTED.read_text(encoding="utf-8"), "detected.yaml")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a Slurm in place that answers as recorded."""
    monkeypatch.setattr(ask_module, "ask", lambda *_: recorded("22.05"))


@pytest.mark.usefixtures("answers")
def test_without_a_profile_slurm_is_queried(asked: Asked, tmp_path: Path) -> None:
    file = job_file(tmp_path)
    assert asked.sites.check(file).value.checked[0].exit_status == 0
    assert asked.sites.check().value.checked == ()
    assert not (tmp_path / "home").exists()


@pytest.mark.usefixtures("silent")
def test_without_a_profile_and_slurm_the_check_fails(asked: Asked, tmp_path: Path) -> None:
    asked.sites.check(job_file(tmp_path)).ends(
        4, "error E460: no site profile found, and Slurm does not answer: `scontrol` is not on PATH"
    )


@pytest.mark.usefixtures("silent")
def test_a_profile_is_checked_without_slurm(asked: Asked, detected: str, tmp_path: Path) -> None:
    said = asked.sites.check(site=detected)
    said.ends(0, "the profile was not compared with the cluster: `scontrol` is not on PATH")
    assert said.value.gone == ()
    assert asked.sites.check(site=job_file(tmp_path, "partitoins: {}\n", "odd.yaml")).code == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slurmVersion: 24.11.5", "Slurm is 22.05.8, not 24.11.5"),
        ("partitions: {gone: {}}", "the cluster has no partition 'gone'; it has fragile, normal, pair, small, "),
        ("virtualClusters: {a: {partition: 'normal,gone'}}", "no partition 'gone'"),
        ("partitions: {pair: {nodes: [{count: 3, cpus: 1, memoryMB: 1}]}}", "partition pair has 2 nodes, not 3"),
        ("partitions: {pair: {nodes: [{count: 1, cpus: 1, memoryMB: 1}], timeLimit: 2-0}}",
         "partition pair allows 1 day, 0:00:00, not 2 days, 0:00:00"),
        ("partitions: {pair: {nodes: [{count: 1, cpus: 1, memoryMB: 1, gpus: 1, gpuType: h100}]}}",
         "no type of GPU in partition pair 'h100'; it has v100"),
        ("partitions: {pair: {nodes: [{count: 1, cpus: 32, memoryMB: 1}]}}",
         "partition pair has at most 16 CPUs on a node, not 32"),
        ("partitions: {pair: {nodes: [{count: 1, cpus: 1, memoryMB: 9000000}]}}",
         "MiB of memory on a node, not 9000000"),
        ("partitions: {pair: {nodes: [{count: 1, cpus: 1, memoryMB: 1, gpus: 9}]}}", "GPUs on a node, not 9"),
        ("partitions: {pair: {nodes: [{count: 1, cpus: 1, memoryMB: 1, gpus: 9, gpuType: v100}]}}",
         "GPUs of type v100 on a node, not 9"),
        ("partitions: {pair: {nodes: [{count: 1, cpus: 1, memoryMB: 1, gpuTypes: ['v100:9']}]}}",
         "GPUs of type v100 on a node, not 9"),
        ("partitions: {pair: {nodes: [{count: 1, cpus: 1, memoryMB: 1, features: [ib, opa]}]}}",
         "no feature in partition pair 'opa'; it has ib, v100"),
        ("partitions: {pair: {nodes: [{count: 1, cpus: 1, memoryMB: 1, gres: ['hcb:1']}]}}",
         "no generic resource in partition pair 'hcb'; it has hca, rtx"),
        ("accounts: {a: {}}", "no account 'a'; it has extra, research"),
        ("qos: {a: {}}", "no QOS 'a'; it has high, normal"),
        ("reservations: [a]", "no reservation 'a'; it has none"),
        ("virtualClusters: {a: {account: b}}", "no account 'b'"),
        ("virtualClusters: {a: {qos: b}}", "no QOS 'b'"),
        ("virtualClusters: {a: {reservation: b}}", "no reservation 'b'"),
        ("priorities: {prod: {qos: b}}", "no QOS 'b'"),
        ("nodeTypes: {a: {gpuType: b}}", "no type of GPU 'b'"),
        ("mpi: [pmix, cray]", "no MPI plugin 'cray'"),
        ("scheduler: {expeditedRequeue: true}", "expedited requeue is not enabled"),
    ],
)  # fmt: skip
def test_settings_that_the_cluster_lacks_are_reported(text: str, message: str) -> None:
    (found,) = differences(load_site(text, file="site.yaml"), FOUND)
    assert message in found.message


def test_no_node_has_all_resources_of_a_group() -> None:
    found = load_site(
        "partitions: {p: {nodes: [{count: 1, cpus: 8, memoryMB: 1}, {count: 1, cpus: 1, memoryMB: 8, gpus: 2}]}}",
        file="found.yaml",
    )
    text = "partitions: {p: {nodes: [{count: 1, cpus: 8, memoryMB: 1, gpus: 2, gpuType: b}]}}"
    [told] = differences(load_site(text, file="site.yaml"), found)
    assert told.message == "partition p has no node with all of 8 CPUs, 1 MiB of memory, 2 GPUs of type b"


@pytest.mark.parametrize("text", ["name: a\n", "scheduler: {type: backfill}\n", "scheduler: {type: builtin}\n"])
def test_a_scheduler_without_het_jobs_is_reported_unless_in_the_profile(text: str) -> None:
    builtin = Scheduler.of(type="builtin")
    found = differences(load_site(text, file="site.yaml"), Site.of(scheduler=builtin))
    words = [f"the cluster starts no job with a component for each role: {builtin.why_no_components}"]
    assert [each.message for each in found] == ([] if "builtin" in text else words)


def test_settings_unknown_to_slurm_are_not_differences() -> None:
    assert differences(FOUND, Site.of(scheduler=FOUND.scheduler)) == differences(FOUND, FOUND) == []
