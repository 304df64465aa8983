"""Where an account may have no more jobs in the queue `submit` tries again; what a site has instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from paislurm.backends.base import JobId, Submission
from paislurm.backends.runner import Completed
from paislurm.backends.slurm.refusals import failure
from paislurm.translator.app.sites import ask as ask_module
from paislurm.translator.app.submit import refusal_location as back_off
from paislurm.translator.app.submit.refusal_location import site_values
from paislurm.translator.site.load import load_site

from ...cli.running import SITE, job_file
from ...monitor.jobs import FakeBackend
from ...site.detection.answered import recorded
from ..asked import Asked

LIMIT = """\
sbatch: error: AssocMaxSubmitJobLimit
sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size ...)
"""
"""Source: observed on 22.05, 24.11 and 26.05."""
ACCOUNT = "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let no time pass between two attempts, and keep how much would have."""
    found: list[float] = []
    monkeypatch.setattr(back_off.time, "sleep", found.append)
    return found


def refusing(monkeypatch: pytest.MonkeyPatch, slurm: FakeBackend, words: str, times: int) -> None:
    """Have Slurm refuse the first so many submissions."""
    submit: Callable[[Submission], JobId] = slurm.submit
    left = [words] * times

    def picky(submission: Submission) -> JobId:
        if left:
            raise failure(["sbatch"], Completed(status=1, stdout="", stderr=left.pop()))
        return submit(submission)

    monkeypatch.setattr(slurm, "submit", picky)


def test_submit_retries_with_growing_pauses_and_submits_once(
    asked: Asked, job: str, slurm: FakeBackend, surroundings: Path, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    refusing(monkeypatch, slurm, LIMIT, 6)
    said = asked.jobs.submit(job)
    said.ends(0, "next try in 5 s, for at most 600 s; Ctrl-C stops trying")
    assert (pauses, len(slurm.submissions)) == ([5, 10, 20, 40, 60, 60], 1)
    assert said.err.count("is not submitted yet: sbatch refuses --account or --qos: AssocMaxSubmitJobLimit") == 6
    (folder,) = surroundings.iterdir()
    kinds = [json.loads(line)["kind"] for line in (folder / "journal.jsonl").read_text().splitlines()]
    assert kinds == ["created", "intent", "submitted"], "no attempt before has left anything"


def test_submit_gives_up_after_a_time(
    asked: Asked, tmp_path: Path, slurm: FakeBackend, surroundings: Path, monkeypatch: pytest.MonkeyPatch,
    pauses: list[float],
) -> None:  # fmt: skip
    (tmp_path / "short.yaml").write_text(f"{SITE}retry: {{submitWait: 12}}\n")
    refusing(monkeypatch, slurm, LIMIT, 9)
    said = asked.jobs.submit(job_file(tmp_path), site=str(tmp_path / "short.yaml"))
    said.ends(4, "error E508: sbatch refuses --account or --qos: AssocMaxSubmitJobLimit")
    assert (pauses, slurm.submissions, list(surroundings.iterdir())) == ([5, 7], [], [])


def test_ctrl_c_interrupts_the_retries(
    asked: Asked, job: str, slurm: FakeBackend, surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(back_off.time, "sleep", Mock(side_effect=KeyboardInterrupt))
    refusing(monkeypatch, slurm, LIMIT, 1)
    asked.jobs.submit(job).ends(130, "waited for a free place in the queue: it was not submitted")
    assert (slurm.submissions, list(surroundings.iterdir())) == ([], [])


def test_other_refusals_are_final_and_list_the_values_of_the_site(
    asked: Asked, job: str, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    monkeypatch.setattr(ask_module, "ask", lambda *_: recorded("24.11"))
    refusing(monkeypatch, slurm, ACCOUNT, 1)
    asked.jobs.submit(job).ends(4, "error E503: sbatch refuses --account", "your accounts are extra, research")
    assert pauses == []


VALUES = load_site(
    """
partitions:
  a: {nodes: [{count: 2, cpus: 8, memoryMB: 100, gpus: 4, gpuType: v100, features: [ib], gres: ["hca:2"]}]}
  b: {timeLimit: 60}
accounts: {one: {maxTime: 30}, two: {}}
qos: {high: {}}
reservations: []
""",
    file="site.yaml",
)


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ("account", "your accounts are one, two"),
        ("qos", "your QOS are high"),
        ("partition", "partitions are a, b (01:00:00)"),
        ("time", "partitions are a, b (01:00:00); the account one allows 00:30:00"),
        ("reservation", "reservations are none"),
        ("gres", "nodes have gpu:v100:4, hca:2"),
        ("mem nodes", "a has 2 nodes of up to 8 CPUs and 100 MiB"),
        ("licenses", ""),
    ],
)
def test_site_values_lists_the_values_for_the_refused_option(options: str, values: str) -> None:
    assert site_values(options.split(), VALUES) == values


def test_only_nodes_of_the_partitions_of_the_job_are_listed() -> None:
    nodes = "{nodes: [{count: 2, cpus: %s, memoryMB: 100, features: [%s]}]}"
    text = f"partitions: {{a: {nodes % (8, 'ib')}, b: {nodes % (16, 'eth')}, c: {{}}}}\n"
    site = load_site(text, file="site.yaml")
    assert site_values(["nodes"], site, ["b"]) == "b has 2 nodes of up to 16 CPUs and 100 MiB"
    assert site_values(["mem"], site, ["b,a"]) == site_values(["mem"], site) == site_values(["mem"], site, ["nowhere"])
    assert site_values(["constraint"], site, ["a"]) == "nodes have the features ib"
    assert site_values(["partition"], site, ["a"]) == "partitions are a, b, c"


def test_unknown_values_are_not_listed() -> None:
    nothing = load_site("name: nothing\n", file="site.yaml")
    options = ("account", "qos", "partition", "time", "reservation", "constraint", "gres", "nodes")
    assert [option for option in options if site_values([option], nothing)] == []
    assert site_values(["constraint"], load_site("partitions: {a: {nodes: [{count: 1, cpus: 1, memoryMB: 1}]}}\n",
                                                 file="site.yaml")) == ""  # fmt: skip
