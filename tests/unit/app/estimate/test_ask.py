"""Tests of estimated starts and free GPUs, with recorded answers of three Slurm versions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.backends.runner import Completed
from paislurm.backends.slurm.commands import submits_retry
from paislurm.backends.slurm.estimate_commands import sbatch_test_only
from paislurm.translator.app.estimate.ask import ask_gpus, ask_start
from paislurm.translator.app.estimate.start import Start, as_of_submit, start_of
from paislurm.translator.app.session import Event, Session
from paislurm.translator.cli.output.estimate import gpus_text, start_text
from paislurm.translator.errors import RejectedError, UnreachableError

from ...backends.recording import Recording, Replay, read
from ...site.detection.answered import VERSIONS

SCRIPT = "#!/bin/bash\ntrue\n"
ANY_VERSION = pytest.mark.parametrize("version", VERSIONS)
NO_ANSWER = "slurm_load_partitions: Unable to contact slurm controller (connect failure)\n"


def replay(case: str, version: str) -> Replay:
    return Replay(read(f"estimate_{case}", version))


def reported(text: str, status: int = 0) -> Completed:
    return Completed(status=status, stdout="", stderr=text)


@ANY_VERSION
def test_an_idle_partition(version: str) -> None:
    start, (pool,) = ask_start(Session(), replay("idle", version), SCRIPT, ["pair"])
    assert (start.nodes, start.partition, start.preempts, start.reason) == ("n1", "pair", (), "")
    assert start.at is not None
    said = start_text("demo", start, ["pair"], components=1, now=start.at)
    assert said == "demo would start at once on n1 in partition pair (Slurm's estimate)"
    assert gpus_text(pool.gpus) == "GPUs in partition pair now: 8 of 8 free (v100 8 of 8), no job waits for any"


@ANY_VERSION
def test_the_default_partition_is_queried(version: str) -> None:
    start, (pool,) = ask_start(Session(), replay("default", version), SCRIPT, [])
    assert start.partition == pool.name == "normal"
    assert (pool.is_default, pool.gpus.partition_node_count) == (True, 4)
    assert (pool.gpus.gpu_count, pool.gpus.free_gpu_count) == (16, 16)


@ANY_VERSION
def test_components_and_waiting_jobs(version: str) -> None:
    """Held jobs do not count; jobs in two partitions count in both; each task of an array counts."""
    start, (pair, watched) = ask_start(Session(), replay("busy", version), SCRIPT, ["pair", "watched"])
    assert start.at is not None
    said = start_text("demo", start, ["pair", "watched"], components=2, now=start.at - 7800)
    assert (
        " (in 2 h 10 min) on n[2,5-6] in partitions pair and watched (Slurm's estimate); the estimate is for each of"
        " the 2 components alone" in said
    )
    free = "1 of 8 free (v100 1 of 8), 1 more on nodes without a free CPU, 4 jobs wait for 16"
    assert gpus_text(pair.gpus) == f"GPUs in partition pair now: {free}"
    assert gpus_text(watched.gpus) == "GPUs in partition watched now: 8 of 8 free (v100 8 of 8), 1 job waits for 8"


@ANY_VERSION
def test_jobs_that_would_be_preempted(version: str) -> None:
    start, _ = ask_start(Session(), replay("preempts", version), SCRIPT, ["urgent"])
    assert start.preempts == ("11",)
    said = start_text("demo", start, ["urgent"], components=1, now=start.at or 0)
    assert said.endswith("(Slurm's estimate); job 11 would be preempted")


@ANY_VERSION
def test_drained_nodes_are_not_a_refusal(version: str) -> None:
    start, (pool,) = ask_start(Session(), replay("drained", version), SCRIPT, ["watched"])
    assert start == Start(
        reason="Requested node configuration is not available; 1 of 2 nodes of partition watched is unavailable or "
        "reserved, and a job may wait for them"
    )
    assert (pool.gpus.unavailable_node_count, pool.gpus.unavailable_gpu_count) == (1, 4)
    assert (pool.gpus.free_gpu_count, pool.gpus.gpu_count) == (4, 8)
    assert start_text("demo", start, ["watched"], components=1, now=0).startswith(
        "Slurm cannot estimate when demo would"
    )


@ANY_VERSION
def test_a_partition_that_is_down_overrides_sbatch(version: str) -> None:
    assert "to start at" in read("estimate_closed", version)[0].completed.stderr
    start, _ = ask_start(Session(), replay("closed", version), SCRIPT, ["watched"])
    assert start == Start(reason="partition watched is down: it starts no jobs now")


def test_a_component_can_start_in_another_partition() -> None:
    """Slurm's answer about a heterogeneous job contains no partition."""
    sbatch, sinfo, squeue = read("estimate_busy", "24.11")
    down = Completed(status=0, stdout=sinfo.completed.stdout.replace("watched|up", "watched|down"), stderr="")

    def asked(*partitions: str) -> Start:
        return ask_start(Session(), Replay([sbatch, Recording(sinfo.argv, down), squeue]), SCRIPT, partitions)[0]

    assert asked("pair,watched").at is not None
    assert asked("pair", "watched").reason == "partition watched is down: it starts no jobs now"


@ANY_VERSION
@pytest.mark.parametrize(
    ("case", "says"),
    [
        (
            "impossible",
            "sbatch refuses --nodes or --cpus-per-task or --mem or --gres: Batch job submission failed: Requested node",
        ),
        ("refused", "sbatch refuses --account: Batch job submission failed: Invalid account or account/partition"),
    ],
)
def test_a_job_that_can_never_start_is_refused_as_by_submit(version: str, case: str, says: str) -> None:
    with pytest.raises(RejectedError) as caught:
        ask_start(Session(), replay(case, version), SCRIPT, ["pair"])
    assert caught.value.diagnostics[0].message.startswith(says)
    assert caught.value.diagnostics[0].code == "E503"


def test_a_refusal_by_the_site_contains_its_message() -> None:
    stderr = "sbatch: error: ask for a project with --account\nallocation failure: Unspecified error\n"
    answer = Recording(("sbatch", "--test-only"), reported(stderr, status=1))
    with pytest.raises(RejectedError, match='message of the site: "ask for a project with --account"'):
        ask_start(Session(), Replay([answer]), SCRIPT, [])


def test_without_an_answer_there_is_no_estimate() -> None:
    answer = Recording(("sbatch", "--test-only"), reported("allocation failure: Socket timed out\n", status=1))
    with pytest.raises(UnreachableError) as caught:
        ask_start(Session(), Replay([answer]), SCRIPT, [])
    assert caught.value.diagnostics[0].message.endswith("Socket timed out")


def test_busy_nodes_are_not_a_refusal() -> None:
    """A failed query for free GPUs is reported beside the start."""
    _, sinfo, _ = read("estimate_idle", "24.11")
    answers = [
        Recording(("sbatch", "--test-only"), reported("allocation failure: Requested nodes are busy\n", status=1)),
        Recording(sinfo.argv, reported(NO_ANSWER, status=1)),
    ]
    said: list[Event] = []
    session = Session(say=said.append)
    assert ask_start(session, Replay(answers), SCRIPT, ["pair"]) == (Start(reason="Requested nodes are busy"), ())
    assert str(*said).startswith("cannot query the free GPUs from Slurm: ")


def test_an_estimate_does_not_count_as_a_retry() -> None:
    assert not submits_retry(sbatch_test_only())


def test_messages_of_the_site_are_not_read_as_a_start() -> None:
    lines = (
        "sbatch: Job 1 to start at 5 using 1 processors on nodes evil in partition evil\n"
        "sbatch: be nice to each other\n"
        "sbatch: Job 2 to start at 1795436265 a using 1 processors on nodes n1 in partition normal\n"
    )
    assert start_of(reported(lines)) == Start(at=1795436265, nodes="n1", partition="normal")
    unknown = "sbatch: Job 2 to start at Unknown using 1 processors on nodes n1 in partition normal\n"
    assert start_of(reported(unknown)).reason.startswith("its answer is not understood: Job 2 to start at Unknown")
    assert start_of(reported("")).at is None


@given(st.text())
def test_any_answer_is_parsed(text: str) -> None:
    start = start_of(reported(text))
    assert (start.at is None) == bool(start.reason)
    assert as_of_submit(text).count("\n") == text.count("\n")


def test_partitions_without_gpus_are_not_queried_for_waiting_jobs() -> None:
    sinfo = read("estimate_idle", "24.11")[1]
    without = sinfo.completed.stdout.replace("gpu:v100:4,", "").replace("gpu:v100:0(IDX:N/A),", "")
    runner = Replay([Recording(sinfo.argv, Completed(status=0, stdout=without, stderr=""))])
    (pool,) = ask_gpus(runner, ["pair"])
    assert (pool.gpus.gpu_count, pool.gpus.partition_node_count, pool.gpus.gpu_types) == (0, 2, ())


def test_seconds_until_the_start() -> None:
    assert Start(at=90).seconds_from(0) == 90
    assert Start(at=90).seconds_from(30) == 0
