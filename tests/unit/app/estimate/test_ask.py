"""What is made of what three Slurms said of starts and GPUs."""

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
def test_a_partition_that_is_idle(version: str) -> None:
    start, (pool,) = ask_start(Session(), replay("idle", version), SCRIPT, ["pair"])
    assert (start.nodes, start.partition, start.preempts, start.reason) == ("n1", "pair", (), "")
    assert start.at is not None
    said = start_text("demo", start, ["pair"], components=1, now=start.at)
    assert said == "demo would start at once on n1 in partition pair (Slurm's estimate)"
    assert gpus_text(pool) == "GPUs in partition pair now: 8 of 8 free (v100 8 of 8), no job waits for any"


@ANY_VERSION
def test_the_partition_that_slurm_chooses_is_asked_about(version: str) -> None:
    start, (pool,) = ask_start(Session(), replay("default", version), SCRIPT, [])
    assert start.partition == pool.partition == "normal"
    assert (pool.is_default, pool.nodes, pool.total, pool.free) == (True, 4, 16, 16)


@ANY_VERSION
def test_components_and_jobs_that_wait(version: str) -> None:
    """A job that is held does not count, one in two partitions counts in both, each task of an array counts."""
    start, (pair, watched) = ask_start(Session(), replay("busy", version), SCRIPT, ["pair", "watched"])
    assert start.at is not None
    said = start_text("demo", start, ["pair", "watched"], components=2, now=start.at - 7800)
    assert (
        " (in 2 h 10 min) on n[2,5-6] in partitions pair and watched (Slurm's estimate); Slurm estimates each of the 2"
        in said
    )
    free = "1 of 8 free (v100 1 of 8), 1 more on nodes without a free CPU, 4 jobs wait for 16"
    assert gpus_text(pair) == f"GPUs in partition pair now: {free}"
    assert gpus_text(watched) == "GPUs in partition watched now: 8 of 8 free (v100 8 of 8), 1 job waits for 8"


@ANY_VERSION
def test_jobs_that_would_give_way(version: str) -> None:
    start, _ = ask_start(Session(), replay("preempts", version), SCRIPT, ["urgent"])
    assert start.preempts == ("11",)
    said = start_text("demo", start, ["urgent"], components=1, now=start.at or 0)
    assert said.endswith("(Slurm's estimate); job 11 would be preempted")


@ANY_VERSION
def test_nodes_that_are_out_of_order_are_no_refusal(version: str) -> None:
    start, (pool,) = ask_start(Session(), replay("drained", version), SCRIPT, ["watched"])
    assert start == Start(
        reason="Requested node configuration is not available; 1 of 2 nodes of partition watched is unavailable or "
        "reserved, and a job may wait for them"
    )
    assert (pool.away_nodes, pool.away, pool.free, pool.total) == (1, 4, 4, 8)
    assert start_text("demo", start, ["watched"], components=1, now=0).startswith(
        "Slurm cannot estimate when demo would"
    )


@ANY_VERSION
def test_a_partition_that_is_down_starts_nothing_whatever_sbatch_says(version: str) -> None:
    assert "to start at" in read("estimate_closed", version)[0].completed.stderr
    start, _ = ask_start(Session(), replay("closed", version), SCRIPT, ["watched"])
    assert start == Start(reason="partition watched is down: it starts no jobs now")


def test_a_component_that_may_go_elsewhere_is_not_kept_by_one_partition() -> None:
    """Of a heterogeneous job Slurm names no partition."""
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
def test_what_can_never_start_is_refused_as_by_submit(version: str, case: str, says: str) -> None:
    with pytest.raises(RejectedError) as caught:
        ask_start(Session(), replay(case, version), SCRIPT, ["pair"])
    assert caught.value.diagnostics[0].message.startswith(says)
    assert caught.value.diagnostics[0].code == "E503"


def test_a_rule_of_the_site_refuses_in_its_own_words() -> None:
    stderr = "sbatch: error: ask for a project with --account\nallocation failure: Unspecified error\n"
    answer = Recording(("sbatch", "--test-only"), reported(stderr, status=1))
    with pytest.raises(RejectedError, match='message of the site: "ask for a project with --account"'):
        ask_start(Session(), Replay([answer]), SCRIPT, [])


def test_no_answer_is_no_estimate_and_took_no_job() -> None:
    answer = Recording(("sbatch", "--test-only"), reported("allocation failure: Socket timed out\n", status=1))
    with pytest.raises(UnreachableError) as caught:
        ask_start(Session(), Replay([answer]), SCRIPT, [])
    assert caught.value.diagnostics[0].message.endswith("Socket timed out")


def test_busy_nodes_are_no_refusal() -> None:
    """And where Slurm does not say which GPUs are free, that is told beside the start."""
    _, sinfo, _ = read("estimate_idle", "24.11")
    answers = [
        Recording(("sbatch", "--test-only"), reported("allocation failure: Requested nodes are busy\n", status=1)),
        Recording(sinfo.argv, reported(NO_ANSWER, status=1)),
    ]
    said: list[Event] = []
    session = Session(say=said.append)
    assert ask_start(session, Replay(answers), SCRIPT, ["pair"]) == (Start(reason="Requested nodes are busy"), ())
    assert str(*said).startswith("cannot query the free GPUs from Slurm: ")


def test_a_question_is_no_retry_on_the_bill() -> None:
    assert not submits_retry(sbatch_test_only())


def test_words_of_a_site_are_no_start() -> None:
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
def test_whatever_is_said_is_read(text: str) -> None:
    start = start_of(reported(text))
    assert (start.at is None) == bool(start.reason)
    assert as_of_submit(text).count("\n") == text.count("\n")


def test_only_partitions_with_gpus_are_asked_for_waiting_jobs() -> None:
    sinfo = read("estimate_idle", "24.11")[1]
    without = sinfo.completed.stdout.replace("gpu:v100:4,", "").replace("gpu:v100:0(IDX:N/A),", "")
    runner = Replay([Recording(sinfo.argv, Completed(status=0, stdout=without, stderr=""))])
    (pool,) = ask_gpus(runner, ["pair"])
    assert (pool.total, pool.nodes, pool.types) == (0, 2, ())


def test_how_long_it_takes() -> None:
    assert Start(at=90).seconds_from(0) == 90
    assert Start(at=90).seconds_from(30) == 0
