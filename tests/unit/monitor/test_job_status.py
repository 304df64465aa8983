"""What is believed when the backend, the result and the reports disagree: a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from paislurm.backends.base import Observation
from paislurm.backends.slurm.job_states import FORGOTTEN, STATES, Phase
from paislurm.translator.exit_codes.table import SiteRow
from paislurm.translator.monitor.facts import View
from paislurm.translator.monitor.job_status import JobStatus
from paislurm.translator.monitor.verdict import verdict
from paislurm.translator.state.history import history
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Cancelled, Observed
from paislurm.translator.state.result import RestartRecord, Result
from paislurm.translator.view.reasons import reason

from .jobs import CREATED, FOLDER, INTENT, NOW, SUBMITTED, left, observed, task

RUNNING_TASK = task(1, state="STOPPED", ended_at=None, exit_status=None, exit_code=-220)


SUCCEEDED = left()
FAILED = left(outcome="failed", exit_code=255)
DECIDED = left(outcome="failed", exit_code=255, tasks=[task(0), RUNNING_TASK])
NEVER_STARTED = left(
    outcome="failed", exit_code=255, tasks=[task(0), task(1, state="STOPPED", started_at=None, ended_at=None)]
)
INTERRUPTED = left(outcome="interrupted", exit_code=-210)
TIMED = left(outcome="failed", exit_code=-1004)
REQUEUED = left(outcome="requeued", exit_code=-100)


def job_status(seen: Observation | None = None, found: Result | None = None, *more: Any, **changes: Any) -> JobStatus:
    evidence = View(
        folder=FOLDER,
        history=history([CREATED, INTENT, SUBMITTED, *more]),
        observation=seen,
        backend_reachable=True,
        result=found,
        started=True,
        now=NOW,
        polled_at=NOW,
    )
    return verdict(replace(evidence, **changes))


ENDINGS = [
    # what the backend says, the result, then: state, code, has it ended
    (observed("NODE_FAIL", final=True), None, "FAILED", -1001, True),
    (observed("NODE_FAIL", final=True), INTERRUPTED, "FAILED", -1001, True),
    (observed("NODE_FAIL", final=True), SUCCEEDED, "SUCCEEDED", 0, True),
    (observed("NODE_FAIL", final=True), FAILED, "FAILED", 255, True),
    (observed("BOOT_FAIL", final=True), None, "FAILED", -1006, True),
    (observed("PREEMPTED", final=True), INTERRUPTED, "FAILED", -1003, True),
    (observed("TIMEOUT", final=True), INTERRUPTED, "FAILED", -1004, True),
    (observed("TIMEOUT", final=True), TIMED, "FAILED", -1004, True),
    (observed("DEADLINE", final=True), None, "FAILED", -1004, True),
    (observed("CANCELLED", final=True), None, "STOPPED", -210, True),
    (observed("CANCELLED", final=True), INTERRUPTED, "STOPPED", -210, True),
    (observed("CANCELLED", final=True), SUCCEEDED, "SUCCEEDED", 0, True),
    (observed("OUT_OF_MEMORY", final=True), None, "FAILED", -1200, True),
    (observed("OUT_OF_MEMORY", final=True), SUCCEEDED, "SUCCEEDED", 0, True),
    (observed("OUT_OF_MEMORY", final=True), FAILED, "FAILED", 255, True),
    # the accounts have not said their last word
    (observed("NODE_FAIL"), INTERRUPTED, "STOPPING", None, False),
    (observed("CANCELLED"), None, "RUNNING", None, False),
    (observed("COMPLETED"), SUCCEEDED, "SUCCEEDED", 0, True),
    (observed("RUNNING"), INTERRUPTED, "STOPPING", None, False),
    # interrupted, and the backend does not say why, or does not know the job, by one answer
    (observed("FAILED", final=True), INTERRUPTED, "FAILED", -101, True),
    (None, INTERRUPTED, "STOPPING", None, False),
    # the result
    (observed("COMPLETED", final=True), SUCCEEDED, "SUCCEEDED", 0, True),
    (observed("FAILED", final=True, status=1), FAILED, "FAILED", 255, True),
    (observed("RUNNING"), FAILED, "FAILED", 255, True),
    (observed("RUNNING"), DECIDED, "RUNNING", None, False),
    (observed("RUNNING"), NEVER_STARTED, "FAILED", 255, True),
    (observed("FAILED", final=True), DECIDED, "FAILED", 255, True),
    (None, DECIDED, "FAILED", 255, True),
    (None, SUCCEEDED, "SUCCEEDED", 0, True),
    (observed("PENDING"), REQUEUED, "FAILED", -100, True),
    # no result
    (observed("COMPLETED", final=True), None, "SUCCEEDED", 0, True),
    (observed("COMPLETED", final=True, ended=NOW - 1), None, "RUNNING", None, False),
    (observed("FAILED", final=True, status=4), None, "FAILED", 255, True),
    (observed("FAILED", final=True, status=0, signal=9), None, "FAILED", 137, True),
    # alive
    # in the queue again after tasks had started
    (observed("PENDING", reason="Resources"), None, "RUNNING", None, False),
    (observed("CONFIGURING"), None, "RUNNING", None, False),
    (observed("RUNNING"), None, "RUNNING", None, False),
    (observed("COMPLETING"), None, "RUNNING", None, False),
    (observed("SUSPENDED"), None, "RUNNING", None, False),
    (observed("FUTURE_WORD"), None, "UNKNOWN", None, False),
    (None, None, "UNKNOWN", None, False),
]


@pytest.mark.parametrize("word", [word for word, (_, found) in STATES.items() if found is Phase.RUNNING])
def test_a_job_with_nodes_says_what_it_does(word: str) -> None:
    """Only a job in the state RUNNING starts its tasks; UPDATE_DB is over in a moment."""
    reason = job_status(observed(word), None, started=False).reason
    assert (reason == "the nodes are allocated, the tasks are starting") == (word in ("RUNNING", "UPDATE_DB"))


@pytest.mark.parametrize(("seen", "found", "state", "code", "ended"), ENDINGS)
def test_observation_and_result_give_the_expected_status(
    seen: Observation | None, found: Result | None, state: str, code: int | None, *, ended: bool
) -> None:
    known = job_status(seen, found)
    assert (known.state, known.code, known.ended) == (state, code, ended)


def test_without_an_answer_the_last_known_state_remains() -> None:
    pending = Observed(happened_at=NOW, attempt=0, backend_state="PENDING", backend_reason="Priority")
    assert job_status(None, None, pending, backend_reachable=False, started=False).state == "WAITING"
    assert job_status(None, None, pending, backend_reachable=False, started=False).reason.startswith("Priority: ")
    running = Observed(happened_at=NOW, attempt=0, backend_state="RUNNING", backend_reason="")
    assert job_status(None, None, running, backend_reachable=False, started=True).state == "RUNNING"
    assert job_status(None, None, backend_reachable=False, started=False).state == "WAITING"


UNSEEN = "node n3 cannot access the job's folder /home/alice/job, which all nodes must"
FULL = "/home/alice/job could not be written: its file system or a quota was full"
OUTSIDE = "Slurm reports FAILED: the batch script was ended from outside and left no result"


@pytest.mark.parametrize(
    ("ends", "asked", "state", "code", "words"),
    [
        ({"status": 4, "signal": None}, False, "FAILED", 255, "ended with status 4 and"),
        ({"status": None, "signal": None}, False, "FAILED", 255, "ended with an unknown status and"),
        # By the script's own word, or by that of a slurmd which cannot open the log.
        ({"status": 6, "ended": NOW}, False, "FAILED", -1405, UNSEEN),
        ({"signal": 53, "ended": NOW}, False, "FAILED", -1405, UNSEEN),
        ({"status": 7}, False, "FAILED", -1406, FULL),
        ({"status": 7, "ended": NOW}, False, "FAILED", -1406, FULL),
        # It was ended before it had a folder.
        ({"status": 3}, False, "FAILED", -101, OUTSIDE),
        ({"status": 3}, True, "STOPPED", -210, "cancelled by alice"),
    ],
)
def test_without_a_result_the_exit_status_of_the_script_tells(
    ends: dict[str, int | None], asked: bool, state: str, code: int | None, words: str
) -> None:
    cancels = [Cancelled(happened_at=NOW, attempt=0, user="alice")] if asked else []
    seen = observed("FAILED", final=True, **({"status": 0, "signal": 0, "nodes": "n3,n4", "ended": NOW - 60} | ends))
    found = job_status(seen, None, *cancels, folder=JobFolder(path=Path("/home/alice/job")))
    assert (found.state, found.code, found.ended) == (state, code, state != "RUNNING")
    assert words in found.reason
    assert ("the disk was full when Slurm opened the log" in found.reason) is (ends.get("signal") == 53)


def test_a_job_that_is_being_cancelled_is_stopping_until_its_end() -> None:
    asked = Cancelled(happened_at=NOW, attempt=0, user="alice")
    assert job_status(observed("PENDING"), None, asked) == JobStatus.so_far(
        "STOPPING", reason("being cancelled", user="alice")
    )
    assert job_status(observed("CANCELLED", final=True), None, asked, canceller="bob").reason == (
        "the job was cancelled by bob"
    )


def test_the_journal_names_the_canceller_if_slurm_does_not() -> None:
    end = observed("CANCELLED", final=True)
    asked = Cancelled(happened_at=NOW, attempt=0, user="alice", job_id=SUBMITTED.job_id)
    assert job_status(end, None, asked).reason == "the job was cancelled by alice"
    # Of another of the backend's jobs it says nothing.
    assert job_status(end, None, replace(asked, job_id="99")).reason == "the job was cancelled"


def test_a_slow_clock_does_not_delay_the_end_forever() -> None:
    ahead = observed("COMPLETED", final=True, ended=NOW + 3600)
    assert not job_status(ahead).ended
    first = Observed(happened_at=NOW - 11, attempt=0, backend_state="COMPLETED", backend_reason="")
    assert job_status(ahead, None, first).ended


LOST = observed(FORGOTTEN, final=True, ended=None)


def last_seen(state: str, ago: int) -> Observed:
    return Observed(happened_at=NOW - ago, attempt=0, backend_state=state, backend_reason="")


@pytest.mark.parametrize(
    ("last", "ended", "code", "words"),
    [
        (None, False, None, "has forgotten the job"),
        (last_seen("RUNNING", 3600), False, None, "has forgotten the job"),
        (last_seen(FORGOTTEN, 599), False, None, "has forgotten the job"),
        (last_seen(FORGOTTEN, 600), True, -1404, "Slurm has forgotten job 7"),
        (last_seen("FAILED", 10), True, -1404, "Slurm reported FAILED and has forgotten job 7"),
        (last_seen("TIMEOUT", 10), True, -1004, "the time limit was reached"),
    ],
)
def test_a_job_unknown_to_slurm_ends_in_time(last: Observed | None, ended: bool, code: int | None, words: str) -> None:
    """What was seen last of it counts."""
    found = job_status(LOST, None, *([last] if last else []), folder=JobFolder(path=Path("/home/alice/job")))
    assert (found.ended, found.code) == (ended, code)
    assert words in found.reason
    assert ("/home/alice/job" in found.reason) == (code == -1404)


def test_results_of_a_job_unknown_to_slurm_are_used() -> None:
    assert job_status(LOST, SUCCEEDED).state == "SUCCEEDED"
    assert [job_status(LOST, INTERRUPTED, last_seen(FORGOTTEN, ago)).code for ago in (9, 10)] == [None, -101]
    asked = Cancelled(happened_at=NOW, attempt=0, user="alice")
    assert job_status(LOST, None, last_seen(FORGOTTEN, 10), asked).reason == "cancelled by alice"
    assert job_status(LOST, polled_at=SUBMITTED.happened_at + 5).state == "WAITING"


def test_a_site_can_define_the_meaning_of_a_slurm_state() -> None:
    row = SiteRow(
        exit_code=-2000, phrase="Taken", behaviour="permanent", backend_states={"PREEMPTED": "taken by a paying job"}
    )
    known = history([replace(CREATED, exit_rows=(row,)), INTENT, SUBMITTED])
    seen = observed("PREEMPTED", final=True)
    assert job_status(seen, history=known) == JobStatus.end(
        -2000, reason("ended from outside", outside="taken by a paying job")
    )
    assert job_status(observed("NODE_FAIL", final=True), history=known).code == -1001


def test_the_reason_names_a_lost_node_once() -> None:
    """A reason that names n12 does not name n1."""
    lost = task(0, node="n12", exit_code=-1001)
    words = "node n12 was lost while role worker ran"
    failed = left(outcome="failed", exit_code=-1001, reason=words, tasks=[lost])
    assert job_status(None, failed, lost=("n12",)).reason == failed.reason
    assert job_status(None, failed, lost=("n1", "n12")).reason == f"{failed.reason}: n1"


def test_the_reason_names_nodes_that_spare_ones_replaced() -> None:
    restarts = tuple(RestartRecord(at=NOW, lost_node=node, spare_node="n9") for node in ("n2", "n3"))
    shown = job_status(observed("COMPLETED", final=True), replace(SUCCEEDED, restarts=restarts))
    assert shown.reason == f"{SUCCEEDED.reason}; all tasks had started anew after the loss of n[2-3]"
