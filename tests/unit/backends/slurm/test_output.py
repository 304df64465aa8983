"""What Slurm prints, read: states, rows, observations, job ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from paislurm.backends.base import JobId, Observation, Submission
from paislurm.backends.batch_script import components, seconds
from paislurm.backends.slurm.commands import sbatch
from paislurm.backends.slurm.job_states import CAUSES, MAX_REASON, STATES, Phase, by_job, normalize, observation, phase
from paislurm.backends.slurm.output import Row, accounting_rows, queue_rows, submitted_ids
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


def rows(text: str) -> list[Row]:
    return by_job(accounting_rows(ACCOUNTS + text))[JobId("7")]


def seen(queue: str | list[Row] = "", accounts: str = "", components: int = 1) -> Observation:
    """Return what rows of the queue and of the accounts come to."""
    queued = queue_rows(queue) if isinstance(queue, str) else queue
    found = observation(queued, rows(accounts) if accounts else (), components=components, accounted=True)
    assert found is not None
    return found


def test_a_tag_is_that_of_the_queue_as_most_accounts_keep_no_comment() -> None:
    queue = queue_rows(
        "7|demo|COMPLETED|10|20|30|n1||||paislurm-1a||None\n8|two|PENDING|10|N/A|N/A|||||(null)|(null)|None\n"
    )
    assert [(row.name, row.comment, row.command) for row in queue] == [("demo", "paislurm-1a", ""), ("two", "", "")]
    for known, tag in ((queue[:1], "paislurm-1a"), ([], "")):
        found = seen(known, "7|demo|COMPLETED|0:0|10|20|30|n1||None\n")
        assert (found.name, found.tag, found.final) == ("demo", tag, True)


def test_accounts_that_missed_the_start_have_no_name() -> None:
    """22.05 writes this row for a short job; Slurm's own word stands for the name, and there is no submit line."""
    [row] = accounting_rows(f"{ACCOUNTS[:-1]}|SubmitLine\n33|allocation|FAILED|0:125|10|20|30|n1||None|\n")
    assert (row.name, row.comment, row.command) == ("", "", "")


def test_a_reason_may_contain_the_separator() -> None:
    [row] = queue_rows("7|7|PENDING|10|N/A|N/A|||||||ReqNodeNotAvail, (drained|by root)\n")
    assert (row.leader, row.reason) == ("7", "ReqNodeNotAvail, (drained|by root)")


def test_accounting_columns_are_found_by_name() -> None:
    reordered = "State|JobName|JobID|ExitCode|Comment|Reason|NodeList|Submit|Start|End\n"
    [row] = accounting_rows(f"{reordered}FAILED|8|7+1|2:0||None|n[1-2]|10|20|30\n")
    assert (row.leader, row.offset, row.status, row.nodes, row.ended) == ("7", 1, 2, "n[1-2]", 30)


def test_a_line_that_is_not_a_row_is_skipped() -> None:
    assert queue_rows("slurmctld says hello\n\n") == []


def test_special_characters_in_the_log_path_are_escaped() -> None:
    folder = Path("/home/a/50%j\\n")
    wanted = Submission(script=folder / "s", folder=folder, job="job", attempt=2, tag="t", log=folder / "slurm.log")
    argv = sbatch(wanted)
    assert r"--output=/home/a/50\%j\\n/slurm.log" in argv
    assert argv[-4:] == [r"/home/a/50%j\n/s", r"/home/a/50%j\n", "2", "t"]


def test_an_unknown_state_is_not_final() -> None:
    found = seen("7|7|TELEPORTED|10|20|30|n1||||||None\n")
    assert (found.state, found.raw_state, found.final) == ("TELEPORTED", "TELEPORTED", False)


def test_a_job_that_outlived_a_lost_node_has_the_state_of_its_last_row() -> None:
    """The accounts show its time before the loss, too, in a row of the same number."""
    found = seen("", "7|7|RESIZING|0:0|10|20|30|n[1-3]||None\n7|7|COMPLETED|0:0|30|30|40|n[1,3]||None\n")
    assert (found.state, found.ended, found.nodes, found.final) == ("COMPLETED", 40, "n[1,3]", True)


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
    found = seen("", "7+0|7|FAILED|3:0|10|20|30|n1||None\n7+1|8|NODE_FAIL|0:0|10|20|31|n2||None\n", components=2)
    assert (found.state, found.status, found.ended, found.nodes) == ("NODE_FAIL", 3, 31, "n1,n2")
    assert found.final


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
    assert not seen("", text, components).final


@pytest.mark.parametrize(("started", "final"), [("None", True), ("30", False)])
def test_a_row_without_a_component_is_final_for_a_job_that_never_started(started: str, final: bool) -> None:
    found = seen("", f"7|7|CANCELLED by 5|0:0|10|{started}|30|None assigned||None\n", components=2)
    assert (found.state, found.final, found.ended) == ("CANCELLED", final, 30)


def test_a_job_that_is_completing_still_runs() -> None:
    queue = "7+0|7|COMPLETING|10|20|30|n1||||||None\n7+1|8|CANCELLED|10|20|30|n2||||||None\n"
    accounts = "7+0|7|CANCELLED by 5|0:0|10|20|30|n1||None\n7+1|8|CANCELLED by 5|0:0|10|20|30|n2||None\n"
    found = seen(queue, accounts, components=2)
    assert (found.state, found.final) == ("COMPLETING", False)


def test_a_job_that_only_the_accounts_show_is_not_in_the_queue() -> None:
    for queue, queued in (("7|demo|PENDING|10|N/A|N/A|||||||None\n", True), ("", False)):
        found = seen(queue, "7|demo|PENDING|0:0|10|Unknown|Unknown|None assigned||None\n")
        assert (found.state, found.queued) == ("PENDING", queued)


def test_a_job_without_rows_is_unknown() -> None:
    assert observation((), (), components=1, accounted=True) is None


LIMIT = "PartitionTimeLimit"


@pytest.mark.parametrize(
    ("state", "first", "second", "reason", "reasons"),
    [
        ("PENDING", "Resources", LIMIT, "Resources", ("Resources", LIMIT)),
        ("PENDING", "None", LIMIT, LIMIT, ("", LIMIT)),
        ("PENDING", "", LIMIT, LIMIT, ("", LIMIT)),
        ("PENDING", "None", "None", "", ("", "")),
        ("RUNNING", "None", "None", "", ()),
    ],
)
def test_each_component_has_a_reason(
    state: str, first: str, second: str, reason: str, reasons: tuple[str, ...]
) -> None:
    """As 22.05 prints it: the first component says nothing of what keeps the others."""
    found = seen(f"28+0|28|{state}|90|200|N/A|||||||{first}\n28+1|29|{state}|90|N/A|N/A|||||||{second}\n", components=2)
    assert (found.reason, found.reasons) == (reason, reasons)


def test_a_running_job_has_no_reason_and_a_long_one_is_cut_short() -> None:
    running = seen("7|7|RUNNING|90|100|N/A|n1||||||None\n")
    assert (running.reason, running.reasons) == ("", ())
    long = seen(f"7|7|PENDING|90|N/A|N/A|||||||ReqNodeNotAvail, {'n' * 9999}\n")
    assert len(long.reasons[0]) == MAX_REASON


@pytest.mark.parametrize(
    ("starts", "state", "reason", "expected"),
    [
        (["200"], "PENDING", "None", 200),
        (["200"], "PENDING", "BeginTime", 200),
        (["200"], "PENDING", "JobHeldUser", None),
        (["200"], "PENDING", "JobHeldAdmin", None),
        (["200"], "PENDING", "JobHoldMaxRequeue", None),
        (["200"], "PENDING", "job requeued in held state", None),
        (["N/A"], "PENDING", "None", None),
        (["200", "300"], "PENDING", "None", 300),
        (["200", "N/A"], "PENDING", "None", None),
        (["200"], "RUNNING", "None", None),
        (["200"], "CANCELLED", "None", None),
    ],
)
def test_the_expected_start_time_is_read(starts: list[str], state: str, reason: str, expected: int | None) -> None:
    nodes = "n1" * (state == "RUNNING")
    text = "".join(f"7+{k}|7|{state}|90|{start}|N/A|{nodes}||||||{reason}\n" for k, start in enumerate(starts))
    found = seen(text, components=len(starts))
    assert (found.expected_start, found.started) == (expected, 200 if state == "RUNNING" else None)


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
    assert not submitted_ids(digits)
    with pytest.raises(ValueError, match="invalid time limit"):
        seconds(digits)
