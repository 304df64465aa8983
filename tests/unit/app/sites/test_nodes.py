"""`paislurm nodes`, and jobs that avoid bad nodes."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from paislurm.translator.state.bad_nodes import BadNode, add
from paislurm.translator.state.job_folder import JobFolder

from ...cli.running import JOB, finish, job_file
from ...monitor.jobs import FakeBackend
from ..asked import Asked


def listed(asked: Asked) -> list[tuple[str, str | None, str | None]]:
    document = asked.sites.nodes().document
    return [(each["node"], each["job"], each["reason"]) for each in document["bad_nodes"]]


@pytest.mark.usefixtures("slurm")
def test_nodes_are_added_listed_and_removed(asked: Asked) -> None:
    assert listed(asked) == []
    assert asked.sites.add_node("n7", reason="slow\x1b[31m").code == 0
    assert {each.node for each in asked.sites.add_node("n8").value.bad_nodes} == {"n7", "n8"}
    assert sorted(listed(asked)) == [("n7", None, "slow\x1b[31m"), ("n8", None, None)]
    assert asked.sites.remove_node("n7").code == 0
    assert listed(asked) == [("n8", None, None)]
    assert (asked.sites.remove_node("n7").code, asked.sites.add_node("n[1-2]").code) == (2, 2)


@pytest.mark.usefixtures("slurm")
def test_a_full_home_is_named(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    asked.sites.add_node("n7")
    full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr("paislurm.translator.state.bad_nodes.add", full)
    for change in (asked.sites.add_node, asked.sites.remove_node):
        change("n7").ends(4, "No space left on device\nhint: free space there", "error E510: cannot write /")


@pytest.mark.parametrize(
    ("avoid", "spare", "expected"),
    [
        ("{for: 1d, atMost: 2}", 8, 2),
        ("{atMost: 1}", 8, 1),
        ("{atMost: 5}", 3, 1),
        ("{atMost: 5}", 2, 0),
        (None, 8, 0),
    ],
)
def test_a_job_avoids_bad_nodes_within_the_spare_ones(
    asked: Asked,
    job: str,
    tmp_path: Path,
    profile: Path,
    slurm: FakeBackend,
    avoid: str | None,
    spare: int,
    expected: int,
) -> None:
    """The job needs two nodes of a partition that has so many."""
    site = "partitions:\n  p:\n    nodes: [{count: COUNT, cpus: 1, memoryMB: 4000}]\ndefaultPartition: p\n"
    profile.write_text(site.replace("COUNT", str(spare)) + "virtualClusters: {default: {partition: p}}\n")
    for node in ("n7", "n8", "n9"):
        asked.sites.add_node(node)
    job = job_file(tmp_path, JOB + (f"extras: {{slurm: {{avoidNodes: {avoid}}}}}\n" if avoid else ""))
    asked.jobs.submit(job).ends(0)
    assert set(slurm.submissions[0].exclude) <= {"n7", "n8", "n9"}
    assert len(slurm.submissions[0].exclude) == expected


@pytest.mark.parametrize(
    ("absent", "avoided", "warned"),
    [((), "n8, n9", ""), (("n9",), "n8", "n9"), (("n8",), "n9", "n8"), (("n8", "n9"), "", "n8, n9")],
)
def test_an_unknown_node_does_not_switch_off_the_avoidance_of_others(
    asked: Asked, job: str, tmp_path: Path, slurm: FakeBackend, absent: tuple[str, ...], avoided: str, warned: str
) -> None:
    """It was there when it was added; the plan, the submit and the status say what is avoided."""
    home = Path(os.environ["PAISLURM_HOME"])
    home.mkdir(mode=0o700)
    add(home, [BadNode(happened_at=int(time.time()), cluster="slurm", node=node) for node in ("n8", "n9")])
    job_file(tmp_path, JOB + "extras: {slurm: {avoidNodes: {atMost: 5}}}\n")
    assert "avoids      n8, n9: see `paislurm nodes`" in asked.compiler.plan(job).out
    slurm.absent = frozenset(absent)
    said = asked.jobs.submit(job)
    assert said.code == 0, said.err
    assert (f"avoids bad nodes: {avoided}\n" in said.err) == bool(avoided)
    assert (f"does not avoid {warned}: " in said.err) == bool(warned)
    assert [", ".join(each.exclude) for each in slurm.submissions] == [avoided]
    assert list(asked.jobs.status("demo").one.avoided_nodes) == (avoided.split(", ") if avoided else [])
    assert (f"avoids           {avoided}\n" in asked.jobs.status("demo").out) == bool(avoided)


def test_only_nodes_of_the_cluster_can_be_added(asked: Asked, slurm: FakeBackend) -> None:
    slurm.absent = frozenset(["n99"])
    asked.sites.add_node("n99").ends(2, "E547: slurm has no node 'n99'")
    assert listed(asked) == []
    slurm.fails = "away"
    assert (asked.sites.add_node("n7").code, listed(asked)) == (6, [])


def test_nodes_at_fault_are_noted_once(asked: Asked, job: str, slurm: FakeBackend, demo: JobFolder) -> None:
    asked.jobs.submit(job)
    task = {
        "role": "worker", "index": 0, "task_attempt": 0, "state": "FAILED", "exit_status": None, "exit_code": -1408,
        "behaviour": "transient", "node": "n3", "started_at": None, "ended_at": None,
    }  # fmt: skip
    ending = {"exit_code": -1408, "behaviour": "transient", "reason": "the preflight found bad nodes", "tasks": [task]}
    finish(demo, slurm, outcome="failed", **ending)
    for _ in range(2):
        asked.jobs.status("demo")
    ((node, _, reason),) = listed(asked)
    assert (node, str(reason)[:29]) == ("n3", "the preflight found bad nodes")
    assert slurm.submissions[-1].exclude == ("n3",)
