"""The verdict: a case of each row, the table in the documentation, and what holds for all facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from paislurm.backends.base import Observation
from paislurm.backends.slurm.job_states import BY_NOBODY, FORGOTTEN, REUSED, Phase, phase
from paislurm.translator.exit_codes.table import ExitTable
from paislurm.translator.monitor.facts import DOES_NOT_KNOW, Slurm, View
from paislurm.translator.monitor.job_status import JobStatus
from paislurm.translator.monitor.transition import transition
from paislurm.translator.monitor.unbegun import NodeFailure
from paislurm.translator.monitor.verdict import TABLE, decide, verdict
from paislurm.translator.state.history import history
from paislurm.translator.state.journal_records import Cancelled, Observed, Record
from paislurm.translator.view.reasons import TEXTS

from .jobs import CREATED, FOLDER, INTENT, NOW, SUBMITTED, left, observed, task

SECTION = (Path(__file__).parents[3] / "docs/explanation/monitor.md").read_text().partition("## The verdict")[2]
TASKS = [task(0), task(1, state="STOPPED", ended_at=None, exit_status=None, exit_code=-220)]
SUCCEEDED, FAILED = left(), left(outcome="failed", exit_code=255)
OPEN = left(outcome="failed", exit_code=255, tasks=TASKS)
CUT, CUT_OPEN = left(outcome="interrupted", exit_code=-210), left(outcome="interrupted", exit_code=-210, tasks=TASKS)
LOST_NODE, NOT_STARTED = left(outcome="failed", exit_code=-1001), left(outcome="failed", exit_code=-1402)
GONE = observed(FORGOTTEN, final=True, ended=None)
OTHER = replace(GONE, raw_state=REUSED, submitted=NOW - 200)
PROLOG = NodeFailure(nodes=("n1",), why="Prolog error")
CANCEL = Cancelled(happened_at=NOW - 2, attempt=0, user="alice", job_id="7")


def last(state: str, ago: int) -> Observed:
    """Return the journal's record of an answer."""
    return Observed(happened_at=NOW - ago, attempt=0, backend_state=state, backend_reason="")


def facts(seen: Observation | None = None, *records: Record, ago: int = 300, **changes: Any) -> View:
    """Return the facts about a job that was submitted some seconds ago, and whose script has begun."""
    known = {
        "history": history([CREATED, INTENT, replace(SUBMITTED, happened_at=NOW - ago), *records]),
        "observation": seen, "backend_reachable": True, "result": None, "started": True, "claimed": True,
        "now": NOW, "polled_at": NOW, "folder": FOLDER,
    }  # fmt: skip
    return View(**known | changes)


def unclaimed(seen: Observation | None = None, *records: Record, **changes: Any) -> View:
    """Return the facts about a job whose script has not begun, and that the monitor may claim."""
    return facts(seen, *records, **{"started": False, "claimed": False, "claimable": True} | changes)


def script_ended(state: str = "FAILED", **changes: Any) -> Observation:
    return observed(state, final=True, **{"status": 0, "signal": 0} | changes)


FULL, OUTSIDE_STATUS, NO_FOLDER = script_ended(status=7), script_ended(status=3), script_ended(status=6)
SILENT: dict[str, Any] = {"backend_reachable": False, "polled_at": 0}
CASES = {
    "another job runs the attempt": (unclaimed(OTHER, runner="8"), "WAITING"),
    "another job has its number, its script never began": (unclaimed(OTHER), -120),
    "another job has its number, its script was ended for that": (facts(OTHER, result=CUT), -101),
    "forgotten after a cancel": (unclaimed(GONE, last(FORGOTTEN, 10), CANCEL), -210),
    "forgotten, a cancel takes effect": (unclaimed(GONE, last("PENDING", 10), CANCEL), "STOPPING"),
    "forgotten after an end from outside": (facts(GONE, last("TIMEOUT", 10)), -1004),
    "it is not shown yet": (unclaimed(GONE, ago=59), "WAITING"),
    "forgotten after its script ended": (facts(GONE, last("FAILED", 10)), -1404),
    "another job has its number, its script had begun": (facts(OTHER, last(FORGOTTEN, 60)), -101),
    "forgotten for long, its script had begun": (facts(GONE, last(FORGOTTEN, 600)), -1404),
    "forgotten, its script had begun": (facts(GONE, last(FORGOTTEN, 599)), "RUNNING"),
    "not known, its script may begin or run": (facts(), "UNKNOWN"),
    "not known for long, its script never began": (unclaimed(GONE, last(FORGOTTEN, 600)), -120),
    "not known, its script has not begun": (unclaimed(GONE, last(FORGOTTEN, 599)), "UNKNOWN"),
    "a node could not start it": (unclaimed(observed("CANCELLED", final=True), unbegun=PROLOG), -1403),
    "cancelled by nobody while its script ran": (
        facts(observed("CANCELLED", final=True, raw_state=BY_NOBODY), result=CUT), -101,
    ),
    "ended from outside": (facts(observed("NODE_FAIL", final=True), result=CUT), -1001),
    "cut off by its user's cancel": (facts(observed("RUNNING"), CANCEL, result=CUT), -210),
    "decided, the lost node is not named yet": (facts(None, result=LOST_NODE, **SILENT), "RUNNING"),
    "cut off, and the cause stays unknown": (facts(script_ended(status=1), result=CUT), -101),
    "decided": (facts(observed("RUNNING"), result=FAILED), 255),
    "decided, tasks are being stopped": (facts(observed("RUNNING"), result=OPEN), "RUNNING"),
    "cut off after a cancel": (facts(observed("RUNNING"), CANCEL, result=CUT_OPEN), "STOPPING"),
    "cut off, the cause is not reported yet": (facts(observed("RUNNING"), result=CUT), "STOPPING"),
    "the node does not see the folder": (unclaimed(NO_FOLDER), -1405),
    "the folder was full": (unclaimed(FULL), -1406),
    "ended, and it had not begun so far": (unclaimed(script_ended(ended=NOW - 1)), "WAITING"),
    "ended, its result may come": (facts(script_ended(ended=NOW - 1)), "RUNNING"),
    "cancelled before it had a folder": (unclaimed(OUTSIDE_STATUS, CANCEL), -210),
    "cut off before it had a folder": (unclaimed(OUTSIDE_STATUS), -101),
    "Slurm started it again while it ran": (facts(script_ended(status=5)), -101),
    "a success of a script that never began": (unclaimed(script_ended("COMPLETED")), -120),
    "a limit or a signal ended it, and its script never began": (unclaimed(observed("TIMEOUT", final=True)), -120),
    "a success without a result": (facts(script_ended("COMPLETED")), 0),
    "a failure without a result": (facts(script_ended(signal=9)), 137),
    "not submitted": (unclaimed(history=history([CREATED, INTENT])), "WAITING"),
    "no answer since the submit": (unclaimed(**SILENT), "WAITING"),
    "no answer, and not known before": (unclaimed(None, last(FORGOTTEN, 5), **SILENT), "WAITING"),
    "being cancelled": (facts(observed("RUNNING"), CANCEL), "STOPPING"),
    "back in the queue": (facts(observed("PENDING")), "RUNNING"),
    "it waits in the queue": (unclaimed(observed("PENDING")), "WAITING"),
    "its tasks are starting": (facts(observed("RUNNING"), started=False), "WAITING"),
    "it ends, and its script never began": (unclaimed(observed("CANCELLED")), "WAITING"),
    "it ends, and no task ran": (facts(observed("CANCELLED"), started=False), "RUNNING"),
    "it runs": (facts(observed("RUNNING")), "RUNNING"),
    "a word of a newer Slurm": (facts(observed("FUTURE")), "UNKNOWN"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_row_decides_its_case(name: str) -> None:
    known, wanted = CASES[name]
    status = verdict(known)
    assert (decide(known).name, status.code if status.ended else status.state) == (name, wanted)
    assert not re.search(r"\{|  |FORGOTTEN|REUSED", status.reason)


def test_no_reason_has_a_word_that_is_not_slurms() -> None:
    assert not [it.status.reason for it in every() if re.search("FORGOTTEN|REUSED", it.status.reason)][:5]


def test_each_row_has_a_text_a_case_and_a_place_in_the_documentation() -> None:
    listed = re.findall(r"^\| ([^|]+) \| `(-?\w+)` \|", SECTION, re.MULTILINE)
    ways = {name: str(wanted) for name, (_, wanted) in CASES.items()}
    # The documentation names the result of a row, or what the result comes from.
    assert [name for name, _ in listed] == [row.name for row in TABLE] == list(ways) == list(TEXTS)[: len(ways)]
    wrong = [
        (row.name, word)
        for row, (_, word) in zip(TABLE, listed, strict=True)
        if not callable(row.then) and word != ways[row.name]
    ]
    assert not wrong


LAUNCH, SPARSE, ENDS = (
    "tests/contract/test_launch.py",
    "tests/contract/test_sparse_sites.py",
    "tests/contract/test_ends.py",
)
FAULTS, NUMBER = "tests/cluster/test_faults.py", "test_job_whose_number_slurm_gives_to_another_job"
PROVOKED = {
    "another job has its number, its script never began": (FAULTS, NUMBER),
    "another job has its number, its script had begun": (
        SPARSE,
        "test_job_lost_by_the_controller_is_retried_if_its_number_is_another_jobs",
    ),
    "not known for long, its script never began": (SPARSE, "test_a_waiting_job_that_its_controller_has_forgotten"),
    "not known, its script has not begun": (SPARSE, "test_a_waiting_job_that_its_controller_has_forgotten"),
    "forgotten for long, its script had begun": (SPARSE, "test_job_lost_by_the_controller_fails_without_a_retry"),
    "forgotten, its script had begun": (SPARSE, "test_job_lost_by_the_controller_fails_without_a_retry"),
    "a node could not start it": (LAUNCH, "test_failed_prolog_is_no_cancel_though_its_node_was_resumed"),
    "ended from outside": (ENDS, "test_lost_batch_node_is_named_after_it_returns"),
    "cut off by its user's cancel": (SPARSE, "test_job_outcomes_are_correct_without_accounting"),
    "decided": (ENDS, "test_a_job_that_slurm_restarts_after_its_end_keeps_its_result"),
    "the node does not see the folder": (SPARSE, "test_node_without_the_shared_home_fails_the_job"),
    "the folder was full": ("tests/contract/test_full_disk.py", "test_a_home_that_fills_up_before_the_job_begins"),
    "it waits in the queue": ("tests/contract/test_estimate.py", ""),
}
"""Where a row is provoked on a real Slurm: the file and the start of the test's name."""


def test_the_tests_that_provoke_rows_exist() -> None:
    assert PROVOKED.keys() <= CASES.keys()
    root = Path(__file__).parents[3]
    assert [name for file, name in PROVOKED.values() if f"def {name or 'test_'}" not in (root / file).read_text()] == []


ANSWERS: tuple[tuple[Observation | None, bool], ...] = (
    (None, False), (None, True), (GONE, True), (OTHER, True), (replace(OTHER, submitted=None), True),
    *((observed(state), True) for state in ("PENDING", "RUNNING", "CANCELLED", "FAILED", "FUTURE")),
    *((observed(state, final=True), True) for state in ("NODE_FAIL", "PREEMPTED", "CANCELLED", "TIMEOUT", "FUTURE")),
    (observed("CANCELLED", final=True, raw_state=BY_NOBODY), True),
    *((script_ended(status=status, ended=NOW - ago), True) for status in (None, 0, 1, 3, 5, 6, 7) for ago in (1, 30)),
    (observed("TIMEOUT", final=True, ended=NOW - 1), True), (script_ended("COMPLETED"), True),
    *((script_ended(signal=signal), True) for signal in (7, 9, 53)),
)  # fmt: skip
RESULTS = (None, SUCCEEDED, FAILED, OPEN, CUT, CUT_OPEN, LOST_NODE, NOT_STARTED)
LAST = (
    None,
    *(last(*each) for each in product(("PENDING", "RUNNING", FORGOTTEN, "CANCELLED", "FAILED"), (5, 30, 700))),
    last("TIMEOUT", 30),
)
BLAME = ("user", "user-stop", "success")
"""The types of codes that no job has whose script never began."""
BEGUN = ((False, False, True), (False, False, False), (True, False, False), (True, True, False))
"""Whether the script has begun, a task has, and the monitor may claim the attempt."""


class Known(NamedTuple):
    """View, and the verdict."""

    facts: View
    status: JobStatus

    @property
    def never_began(self) -> bool:
        """Whether no trace of the script exists."""
        return not self.facts.claimed and self.facts.result is None

    @property
    def last(self) -> str:
        """The state in the journal, "" for none."""
        return self.facts.history.observed.backend_state if self.facts.history.observed else ""

    @property
    def row(self) -> Any:
        """The meaning of the code."""
        return self.facts.table.describe(self.status.code or 0)


def _all() -> Iterator[Known]:
    for (seen, answers), result, record, cancel, ago, begun in product(
        ANSWERS, RESULTS, LAST, (None, CANCEL, replace(CANCEL, job_id="99")), (30, 300), BEGUN
    ):
        records = [each for each in (record, cancel) if each is not None]
        claimed, started, claimable = begun
        if result is not None and not claimed:
            continue
        may_be_unbegun = seen and seen.final and seen.state == "CANCELLED" and not cancel
        undecided = result in (None, CUT, CUT_OPEN, NOT_STARTED)
        for unbegun in (None, PROLOG) if may_be_unbegun and undecided else (None,):
            known = facts(
                seen, *records, ago=ago, backend_reachable=answers, result=result, polled_at=NOW if answers else 0,
                claimed=claimed, started=started, claimable=claimable, unbegun=unbegun,
            )  # fmt: skip
            yield Known(known, verdict(known))


@cache
def every() -> tuple[Known, ...]:
    """Return the whole product of facts, each with its verdict: seconds, so not when the module is imported."""
    return tuple(_all())


def wrong(*conditions: Any) -> list[str]:
    """Return the first facts for which all conditions hold."""
    return [decide(each.facts).name for each in every() if all(condition(each) for condition in conditions)][:5]


def is_ended(known: Known) -> bool:
    return known.status.ended


def has_decided(known: Known) -> bool:
    return known.facts.result is not None and not known.facts.is_cut


def test_no_answer_is_never_an_end() -> None:
    """But a complete result may be one, and that of a job which its user cancelled."""
    assert not wrong(
        is_ended,
        lambda it: it.facts.slurm is Slurm.SILENT,
        lambda it: not ((it.facts.result and it.facts.result.complete) and (has_decided(it) or it.facts.cancelled_by)),
    )


def test_success_needs_proof() -> None:
    assert not wrong(
        lambda it: it.status.state == "SUCCEEDED",
        lambda it: not (it.facts.result is SUCCEEDED or (it.facts.claimed and it.facts.seen.state == "COMPLETED")),
    )


def test_what_never_began_is_never_its_users_failure() -> None:
    assert not wrong(
        is_ended,
        lambda it: it.never_began,
        lambda it: it.status.state == "FAILED" and it.row.type in BLAME,
    )


@pytest.mark.parametrize("state", ExitTable().states)
def test_no_end_by_slurm_is_the_users_failure_if_the_script_never_began(state: str) -> None:
    """Whether Slurm reports it now, or did before it forgot the job."""
    for known in (unclaimed(observed(state, final=True)), unclaimed(GONE, last(state, 30))):
        status = verdict(known)
        assert status.state == "STOPPED" or not status.ended or known.table.describe(status.code or 0).type not in BLAME


def test_what_never_began_is_a_nodes_failure_only_where_slurm_names_the_node() -> None:
    named = ("NODE_FAIL", "BOOT_FAIL")
    assert not wrong(
        is_ended,
        lambda it: it.never_began and it.row.exclude_node,
        lambda it: not (it.facts.unbegun or it.facts.seen.state in named),
    )
    blamed = [transition(it.facts, it.status, completed=0)[1] for it in every() if it.status.ended and it.never_began]
    assert {getattr(record, "blamed_nodes", ()) for records in blamed for record in records} == {(), PROLOG.nodes}


def test_what_never_began_fails_for_good_only_after_a_cancel_or_where_slurm_can_never_start_it() -> None:
    assert not wrong(
        is_ended,
        lambda it: it.never_began and it.row.behaviour == "permanent",
        lambda it: not (it.facts.history.cancelled or it.status.code == -1405),
        lambda it: it.facts.seen.state != "CANCELLED",
    )


def test_a_job_whose_number_is_another_jobs_is_stopped_only_by_its_users_cancel() -> None:
    """The accounts show it as cancelled before: by its controller, which has lost it."""
    assert not wrong(
        lambda it: it.status.code == -210,
        lambda it: it.facts.slurm is Slurm.REUSED and it.facts.result is None and it.facts.history.cancelled is None,
    )


def test_one_answer_that_does_not_know_a_job_never_ends_it() -> None:
    """Unless the number is another job's, and its script had not begun, or was ended for the other job."""
    assert not wrong(
        is_ended,
        lambda it: it.facts.slurm in DOES_NOT_KNOW,
        lambda it: phase(it.last) is not Phase.ENDED,
        lambda it: not (has_decided(it) or it.facts.cancelled_by),
        lambda it: it.facts.slurm is not Slurm.REUSED or (it.facts.claimed and it.facts.result is not CUT),
    )


def test_a_decided_result_wins_over_everything_but_a_nodes_loss() -> None:
    assert not wrong(
        is_ended,
        lambda it: has_decided(it) and it.facts.unbegun is None,
        lambda it: it.status.code != it.facts.result.exit_code,
    )


def test_without_accounts_the_verdict_is_the_same_or_weaker() -> None:
    """The same facts, but Slurm does not know the job: it goes on, or has the same code, or blames nobody.

    Or it has the code of an end that Slurm reported before, or of a cancel by its user.
    """
    for it in every():
        if it.facts.slurm not in (Slurm.OUTSIDE, Slurm.SCRIPT_ENDED):
            continue
        for seen in (GONE, OTHER):
            without = replace(it.facts, observation=seen, unbegun=None)
            status = verdict(without)
            row = without.table.describe(status.code or 0)
            reported = without.table.states.get(without.seen_end)
            assert (
                not status.ended
                or status.code in (it.status.code, -1404)
                or (has_decided(it) and status.code == it.facts.result.exit_code)
                or (reported and status.code == reported[0].code)
                or (row.behaviour, row.exclude_node) == ("transient", False)
                or (status.code == -210 and without.history.cancelled is not None)
            ), (decide(it.facts).name, decide(without).name)
            assert status.code != -1404 or without.claimed


def test_no_job_that_never_began_runs() -> None:
    """According to its files, and unless Slurm calls it running."""
    assert not wrong(
        lambda it: it.status.state == "RUNNING" and it.never_began and not it.facts.started,
        lambda it: it.facts.last_state != "RUNNING",
    )
