"""Tests of estimated starts, with recorded answers of three Slurm versions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.backends.runner import Completed
from paislurm.backends.slurm.commands import sbatch_test_only, sinfo_partitions, submits_retry
from paislurm.backends.slurm.expected_start import Start, as_of_submit, ask_start, start_of
from paislurm.translator.errors import RejectedError, UnreachableError

from ...backends.recording import Recording, Replay, read
from ...site.detection.answered import VERSIONS

NOT_AVAILABLE = "Requested node configuration is not available"
SCRIPT = "#!/bin/bash\ntrue\n"
ANY_VERSION = pytest.mark.parametrize("version", VERSIONS)
NO_ANSWER = "slurm_load_partitions: Unable to contact slurm controller (connect failure)\n"
NO_PARTITIONS = Recording(tuple(sinfo_partitions([])), Completed(status=1, stdout="", stderr=NO_ANSWER))


def replay(case: str, version: str) -> Replay:
    return Replay(read(f"estimate_{case}", version))


def reported(text: str, status: int = 0) -> Completed:
    return Completed(status=status, stdout="", stderr=text)


@ANY_VERSION
@pytest.mark.parametrize(
    ("case", "partitions", "expected"),
    [
        ("idle", ["pair"], ("n1", "pair", ())),
        ("default", [], ("n", "normal", ())),
        ("preempts", ["urgent"], ("n5", "urgent", ("11",))),
    ],
)
def test_a_start_has_its_place(
    version: str, case: str, partitions: list[str], expected: tuple[str, str, tuple[str, ...]]
) -> None:
    start = ask_start(replay(case, version), SCRIPT, partitions)
    assert (start.partition, start.preempts, start.at is None, start.reason) == (*expected[1:], False, "")
    assert start.nodes.startswith(expected[0])


@ANY_VERSION
@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (
            "drained",
            f"{NOT_AVAILABLE}; unavailable or reserved now: 1 of 2 nodes of partition watched; a job may wait for them",
        ),
        ("closed", "partition watched is down: it starts no jobs now"),
    ],
)
def test_slurm_is_asked_why_a_job_waits(version: str, case: str, reason: str) -> None:
    assert ask_start(replay(case, version), SCRIPT, ["watched"]) == Start(reason=reason)


def test_a_component_can_start_in_another_partition() -> None:
    """Slurm's answer about a heterogeneous job contains no partition."""
    sbatch, sinfo = read("estimate_busy", "24.11")
    down = Completed(status=0, stdout=sinfo.completed.stdout.replace("watched|up", "watched|down"), stderr="")

    def asked(*partitions: str) -> Start:
        return ask_start(Replay([sbatch, Recording(sinfo.argv, down)]), SCRIPT, partitions)

    assert asked("pair,watched").at is not None
    assert asked("pair", "watched").reason == "partition watched is down: it starts no jobs now"


def test_busy_nodes_are_not_a_refusal() -> None:
    """Without an answer of sinfo the words of sbatch are the reason."""
    _, sinfo = read("estimate_idle", "24.11")
    answers = [
        Recording(("sbatch", "--test-only"), reported("allocation failure: Requested nodes are busy\n", status=1)),
        Recording(sinfo.argv, reported(NO_ANSWER, status=1)),
    ]
    assert ask_start(Replay(answers), SCRIPT, ["pair"]) == Start(reason="Requested nodes are busy")


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
        ask_start(replay(case, version), SCRIPT, ["pair"])
    found = caught.value.diagnostics[0]
    assert (found.code, found.message[: len(says)]) == ("E503", says)


def test_a_refusal_by_the_site_contains_its_message() -> None:
    stderr = "sbatch: error: ask for a project with --account\nallocation failure: Unspecified error\n"
    answer = Recording(("sbatch", "--test-only"), reported(stderr, status=1))
    with pytest.raises(RejectedError, match='message of the site: "ask for a project with --account"'):
        ask_start(Replay([answer, NO_PARTITIONS]), SCRIPT, [])


def test_without_an_answer_there_is_no_estimate() -> None:
    answer = Recording(("sbatch", "--test-only"), reported("allocation failure: Socket timed out\n", status=1))
    with pytest.raises(UnreachableError) as caught:
        ask_start(Replay([answer, NO_PARTITIONS]), SCRIPT, [])
    assert caught.value.diagnostics[0].message.endswith("Socket timed out")


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


def test_seconds_until_the_start() -> None:
    assert [Start(at=90).seconds_from(now) for now in (0, 30)] == [90, 0]
