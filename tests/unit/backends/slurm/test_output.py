"""What Slurm prints, read: states, rows, observations, job ids."""

from __future__ import annotations

import pytest

from paislurm.backends.base import JobId, Submission
from paislurm.backends.batch_script import components, seconds
from paislurm.backends.slurm.commands import sbatch
from paislurm.backends.slurm.output import Row, accounting_rows, queue_rows, submitted_id
from paislurm.backends.slurm.states import CAUSES, MAX_REASON, STATES, Phase, by_job, normalize, observation, phase
from paislurm.translator.errors import UnreachableError

ACCOUNTS = "JobID|JobName|State|ExitCode|Submit|Start|End|NodeList|Comment|Reason\n"


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        ("CANCELLED by 1000", "CANCELLED"),
        ("CANCELLED+", "CANCELLED"),
        ("OUT_OF_ME+", "OUT_OF_MEMORY"),
        ("NODE_FAIL", "NODE_FAIL"),
        ("CG", "COMPLETING"),
        ("OOM", "OUT_OF_MEMORY"),
        ("REQUEUE_+", "REQUEUE_"),
        ("TELEPORTED", "TELEPORTED"),
        ("TELEPORT+", "TELEPORT"),
        ("", ""),
    ],
)
def test_state_words(raw: str, word: str) -> None:
    assert normalize(raw) == word


def test_every_state_has_a_phase_and_every_ending_a_rank() -> None:
    assert {phase(word) for word in STATES} == {Phase.PENDING, Phase.RUNNING, Phase.ENDED}
    assert {word for word in STATES if phase(word) is Phase.ENDED} == set(CAUSES)
    assert phase("TELEPORTED") is Phase.UNKNOWN
    shorts = [short for short, _ in STATES.values() if short]
    assert len(shorts) == len(set(shorts))


@pytest.mark.parametrize(
    ("stdout", "job_id"),
    [
        ("123\n", "123"),
        ("123;cluster\n", "123;cluster"),
        ("Estimated cost: 3\n124\n", "124"),
        ("Submitted batch job 5\n", None),
        ("", None),
    ],
)
def test_the_job_id_of_sbatch(stdout: str, job_id: str | None) -> None:
    assert submitted_id(stdout) == job_id


def test_a_comment_is_that_of_the_queue_as_most_accounts_keep_none() -> None:
    queue = queue_rows("7|demo|COMPLETED|10|20|30|n1|paislurm-1a|None\n8|two|PENDING|10|N/A|N/A||(null)|None\n")
    assert [(row.name, row.comment) for row in queue] == [("demo", "paislurm-1a"), ("two", "")]
    accounts = rows("7|demo|COMPLETED|0:0|10|20|30|n1||None\n")
    for known, comment in ((queue[:1], "paislurm-1a"), ((), "")):
        seen = observation(known, accounts, components=1, accounted=True)
        assert seen is not None
        assert (seen.name, seen.comment, seen.final) == ("demo", comment, True)


def test_a_reason_may_contain_the_separator() -> None:
    [row] = queue_rows("7|7|PENDING|10|N/A|N/A|||ReqNodeNotAvail, (drained|by root)\n")
    assert (row.leader, row.reason) == ("7", "ReqNodeNotAvail, (drained|by root)")


def test_accounting_columns_are_found_by_name() -> None:
    reordered = "State|JobName|JobID|ExitCode|Comment|Reason|NodeList|Submit|Start|End\n"
    [row] = accounting_rows(f"{reordered}FAILED|8|7+1|2:0||None|n[1-2]|10|20|30\n")
    assert (row.leader, row.offset, row.status, row.nodes, row.ended) == ("7", 1, 2, "n[1-2]", 30)


def test_a_line_that_is_not_a_row_is_skipped() -> None:
    assert queue_rows("slurmctld says hello\n\n") == []


def test_special_characters_in_the_log_path_are_escaped() -> None:
    from pathlib import Path

    folder = Path("/home/a/50%j\\n")
    wanted = Submission(script=folder / "s", folder=folder, job="job", attempt=2, tag="t", log=folder / "slurm.log")
    argv = sbatch(wanted)
    assert r"--output=/home/a/50\%j\\n/slurm.log" in argv
    assert argv[-4:] == [r"/home/a/50%j\n/s", r"/home/a/50%j\n", "2", "t"]


def rows(text: str) -> list[Row]:
    return by_job(accounting_rows(ACCOUNTS + text))[JobId("7")]


def test_an_unknown_state_is_not_final() -> None:
    queue = by_job(queue_rows("7|7|TELEPORTED|10|20|30|n1||None\n"))[JobId("7")]
    seen = observation(queue, (), components=1, accounted=True)
    assert seen is not None
    assert (seen.state, seen.raw_state, seen.final) == ("TELEPORTED", "TELEPORTED", False)


def test_a_job_that_outlived_a_lost_node_has_the_state_of_its_last_row() -> None:
    """The accounts show its time before the loss, too, in a row of the same number."""
    found = rows("7|7|RESIZING|0:0|10|20|30|n[1-3]||None\n7|7|COMPLETED|0:0|30|30|40|n[1,3]||None\n")
    seen = observation((), found, components=1, accounted=True)
    assert seen is not None
    assert (seen.state, seen.ended, seen.nodes, seen.final) == ("COMPLETED", 40, "n[1,3]", True)


def test_a_component_may_have_the_number_of_a_job_that_slurm_has_lost() -> None:
    other = "6+0|other|RUNNING|0:0|10|20||n1||None\n6+1|other|RUNNING|0:0|10|20||n2||None\n"
    (found,) = rows(other)
    assert (found.name, found.leader, found.offset) == ("other", "7", None)
    (found,) = rows(f"{other}7|own|RUNNING|0:0|10|20||n3||None\n")
    assert found.name == "own"


def test_the_components_of_a_lost_job_are_not_those_of_the_job_that_has_its_number() -> None:
    """A controller that was killed had not written the first job down; the accounts show both. Observed on 22.05."""
    lost = "7+0|lost|PENDING|0:0|10|||||\n7+1|lost|PENDING|0:0|10|||||\n"
    (found,) = rows(f"{lost}7|own|TIMEOUT|0:0|20|23|40|n4||None\n")
    assert (found.state, found.nodes) == ("TIMEOUT", "n4")


def test_state_is_the_cause_and_status_is_that_of_the_script() -> None:
    seen = observation(
        (),
        rows("7+0|7|FAILED|3:0|10|20|30|n1||None\n7+1|8|NODE_FAIL|0:0|10|20|31|n2||None\n"),
        components=2,
        accounted=True,
    )
    assert seen is not None
    assert (seen.state, seen.status, seen.ended, seen.nodes, seen.final) == (
        "NODE_FAIL",
        3,
        31,
        "n1,n2",
        True,
    )


@pytest.mark.parametrize(
    ("text", "components"),
    [
        ("7|7|FAILED|3:0|10|20|30|n1||None\n", 2),
        ("7+0|7|FAILED|3:0|10|20|30|n1||None\n", 2),
        ("7+0|7|FAILED|3:0|10|20|30|n1||None\n7+1|8|RUNNING|0:0|10|20|Unknown|n2||None\n", 2),
        ("7+0|7|FAILED|3:0|10|20|30|n1||None\n7+2|9|FAILED|3:0|10|20|30|n3||None\n", 1),
        ("7|7|PENDING|0:0|10|20|Unknown|n1||None\n", 1),
        ("7|7|COMPLETED|0:0|10|20|Unknown|n1||None\n", 1),
    ],
)
def test_accounts_are_final_only_when_complete(text: str, components: int) -> None:
    seen = observation((), rows(text), components=components, accounted=True)
    assert seen is not None
    assert not seen.final


@pytest.mark.parametrize(("started", "final"), [("None", True), ("30", False)])
def test_a_row_without_a_component_is_final_for_a_job_that_never_started(started: str, final: bool) -> None:
    text = f"7|7|CANCELLED by 5|0:0|10|{started}|30|None assigned||None\n"
    seen = observation((), rows(text), components=2, accounted=True)
    assert seen is not None
    assert (seen.state, seen.final, seen.ended) == ("CANCELLED", final, 30)


def test_a_job_that_is_completing_still_runs() -> None:
    queue = by_job(queue_rows("7+0|7|COMPLETING|10|20|30|n1||None\n7+1|8|CANCELLED|10|20|30|n2||None\n"))
    accounts = rows("7+0|7|CANCELLED by 5|0:0|10|20|30|n1||None\n7+1|8|CANCELLED by 5|0:0|10|20|30|n2||None\n")
    seen = observation(queue[JobId("7")], accounts, components=2, accounted=True)
    assert seen is not None
    assert (seen.state, seen.final) == ("COMPLETING", False)


def test_a_job_that_only_the_accounts_show_is_not_in_the_queue() -> None:
    accounts = rows("7|demo|PENDING|0:0|10|Unknown|Unknown|None assigned||None\n")
    for queue, queued in ((queue_rows("7|demo|PENDING|10|N/A|N/A|||None\n"), True), ((), False)):
        seen = observation(queue, accounts, components=1, accounted=True)
        assert seen is not None
        assert (seen.state, seen.queued) == ("PENDING", queued)


def test_a_job_without_rows_is_unknown() -> None:
    assert observation((), (), components=1, accounted=True) is None


def test_each_component_has_a_reason() -> None:
    """As 22.05 prints it: the first component says nothing of what keeps the others."""
    text = "28+0|28|PENDING|90|200|N/A|||{}\n28+1|29|PENDING|90|N/A|N/A|||PartitionTimeLimit\n"
    for first, reason in (("Resources", "Resources"), ("None", "PartitionTimeLimit"), ("", "PartitionTimeLimit")):
        seen = observation(queue_rows(text.format(first)), (), components=2, accounted=True)
        assert seen is not None
        assert seen.reason == reason
        assert seen.reasons == ("Resources" if first == "Resources" else "", "PartitionTimeLimit")
    unsaid = text.format("None").replace("PartitionTimeLimit", "None")
    for state, known in (("PENDING", ("", "")), ("RUNNING", ())):
        seen = observation(queue_rows(unsaid.replace("PENDING", state)), (), components=2, accounted=True)
        assert seen is not None
        assert seen.reasons == known
    running = observation(queue_rows("7|7|RUNNING|90|100|N/A|n1||None\n"), (), components=1, accounted=True)
    assert running is not None
    assert (running.reason, running.reasons) == ("", ())
    long = observation(
        queue_rows(f"7|7|PENDING|90|N/A|N/A|||ReqNodeNotAvail, {'n' * 9999}\n"), (), components=1, accounted=True
    )
    assert long is not None
    assert len(long.reasons[0]) == MAX_REASON


def test_the_expected_start_time_is_read() -> None:
    def expected(*starts: str, state: str = "PENDING", nodes: str = "", reason: str = "None") -> int | None:
        text = "".join(f"7+{k}|7|{state}|90|{start}|N/A|{nodes}||{reason}\n" for k, start in enumerate(starts))
        seen = observation(queue_rows(text), (), components=len(starts), accounted=True)
        assert seen is not None
        assert seen.started is None or state == "RUNNING"
        return seen.expected_start

    assert expected("200") == 200
    assert expected("200", reason="BeginTime") == 200
    for reason in ("JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue", "job requeued in held state"):
        assert expected("200", reason=reason) is None
    assert expected("N/A") is None
    assert expected("200", "300") == 300
    assert expected("200", "N/A") is None
    assert expected("200", state="RUNNING", nodes="n1") is None
    assert expected("200", state="CANCELLED") is None


def test_accounting_output_without_its_columns_is_invalid() -> None:
    """A wrapper of a site's, or another program of the name."""
    for text in ("JobID|State\n7|FAILED\n", "7|7|FAILED|1:0|1|2|3|n1||None\n", "nonsense\n"):
        with pytest.raises(UnreachableError, match="E543: sacct did not print the requested columns"):
            accounting_rows(text)
    assert accounting_rows("") == []


@pytest.mark.parametrize("digits", ["9" * 10_000, "²", "٣", "+1", "1_0"])
def test_non_ascii_or_huge_digits_are_not_numbers(digits: str) -> None:
    (row,) = accounting_rows(f"{ACCOUNTS}7+{digits}|7|FAILED|{digits}:{digits}|{digits}|{digits}|{digits}|n1||None\n")
    assert (row.offset, row.status, row.signal, row.submitted, row.started, row.ended) == (None,) * 6
    assert components(f"#SBATCH --nodes={digits}\n")[0].nodes == 1
    assert submitted_id(digits) is None
    with pytest.raises(ValueError, match="invalid time limit"):
        seconds(digits)
