"""Steps of the monitor: what is recorded and done about a job, and jobs that wait for others."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.exit_codes.table import Behaviour, SiteRow, exit_codes
from paislurm.translator.monitor.attempt import SETTLED_SECONDS
from paislurm.translator.monitor.facts import View
from paislurm.translator.monitor.job_status import JobStatus
from paislurm.translator.monitor.poll import open_job
from paislurm.translator.monitor.reconcile import UNKNOWN_SECONDS, Dependencies, reconcile, record_news
from paislurm.translator.monitor.transition import retry_decision
from paislurm.translator.state.history import MAX_EXCLUDED, history
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import append
from paislurm.translator.state.journal_records import Cancelled, Ended, Record, RetryPolicy, dump
from paislurm.translator.times import format_time
from paislurm.translator.view.reasons import said

from .jobs import (
    CREATED,
    ENDED,
    FOLDER,
    INTENT,
    NOW,
    SUBMITTED,
    FakeBackend,
    ended,
    failed_job,
    job,
    job_folder,
    kinds,
    leave_result,
    left,
    observed,
    stepped,
    task,
    waiting_job,
)

KILLED = {"outcome": "failed", "exit_code": 137, "behaviour": "transient", "reason": "worker-0 was killed"}


def test_a_failure_within_the_retry_budget_is_retried_at_once(tmp_path: Path) -> None:
    folder, backend = failed_job(tmp_path)
    view = stepped(folder, backend, NOW)
    assert (view.job_status.state, view.history.attempt, view.history.job_id) == ("WAITING", 1, "101")
    (submission,) = backend.submissions
    assert (submission.attempt, submission.tag, submission.exclude) == (1, f"{INTENT.tag}.1", ())
    assert submission.script == folder.script(1)
    assert folder.script(1).read_bytes() == folder.script(0).read_bytes()
    assert kinds(folder) == ["Retry", "Intent", "Submitted"]
    # It fails again, and that was all.
    folder.result(1).write_bytes(folder.result(0).read_bytes())
    ended(backend, "101")
    last = stepped(folder, backend, NOW)
    assert (last.job_status.state, last.job_status.code, last.job_status.ended) == ("FAILED", 255, True)
    assert last.job_status.reason == "worker-0 failed; its retry is used up"
    assert [(retry.attempt, retry.exit_code, retry.retry_rule) for retry in last.history.retries] == [
        (0, 255, "retry 1 of 1")
    ]
    assert stepped(folder, backend, NOW).job_status == last.job_status
    assert len(backend.submissions) == 1


def test_a_retry_can_be_submitted_early_with_a_begin_time(tmp_path: Path) -> None:
    """Of the end of an attempt no process stays behind that could wait for it."""
    folder, backend = job(tmp_path), FakeBackend()
    leave_result(folder, **KILLED)
    assert stepped(folder, backend, NOW, ahead=60).history.attempt == 1
    folder.result(1).write_bytes(folder.result(0).read_bytes())
    assert stepped(folder, backend, NOW, ahead=9).history.attempt == 1
    assert stepped(folder, backend, NOW + 4, ahead=9).history.attempt == 2
    assert [submission.delay for submission in backend.submissions] == [0, 6]


def test_the_hourly_limit_also_counts_retries_with_a_later_begin_time(tmp_path: Path) -> None:
    folder, backend = job(tmp_path), FakeBackend()
    leave_result(folder, **KILLED)
    stepped(folder, backend, NOW, ahead=60)
    folder.result(1).write_bytes(folder.result(0).read_bytes())
    view = stepped(folder, backend, NOW, ahead=60, room_at=NOW + 50)
    assert (len(backend.submissions), view.room_at) == (1, NOW + 50)
    assert f"waiting for attempt 3, which is held back until {format_time(NOW + 50)}: " in view.job_status.reason


@pytest.mark.parametrize(
    ("code", "reported", "site", "behaviour"),
    [
        *((code, row.behaviour, None, row.behaviour) for code, row in exit_codes().items() if row.type != "success"),
        (254, "transient", None, "transient"),  # the registry did not answer
        (252, "transient", None, "transient"),  # the node folder is gone, and another attempt has another one
        (254, "transient", "permanent", "permanent"),
        (254, "stop", None, "permanent"),
    ],
)
def test_the_behaviour_of_the_result_decides_unless_the_site_has_a_rule(
    code: int, reported: str, site: Behaviour | None, behaviour: Behaviour
) -> None:
    rows = (SiteRow(exit_code=code, behaviour=site),) if site else ()
    evidence = View(
        folder=FOLDER, history=history([replace(CREATED, exit_rows=rows), INTENT, SUBMITTED]), backend_reachable=True,
        started=True, now=NOW, polled_at=NOW, result=left(outcome="failed", exit_code=code, behaviour=reported),
    )  # fmt: skip
    assert retry_decision(evidence, code)[0].behaviour == behaviour
    assert retry_decision(evidence, -1004)[0].behaviour == "permanent"


@pytest.mark.parametrize(
    ("later", "fails", "state", "there"),
    [
        (30, "", "WAITING", True),
        (100_000, "", "UNKNOWN", True),
        (UNKNOWN_SECONDS + 1, "", "UNKNOWN", False),
        (UNKNOWN_SECONDS + 1, "away", "WAITING", True),
    ],
)
def test_secrets_of_a_lost_job_are_removed(tmp_path: Path, later: int, fails: str, state: str, there: bool) -> None:
    """It was killed, and Slurm says that it has forgotten it: its user may never look again. It may be elsewhere."""
    folder, backend = job(tmp_path), FakeBackend()
    backend.fails = fails
    folder.secrets.mkdir()
    (folder.secrets / "token").write_text("s3cr3t")
    view = stepped(folder, backend, SUBMITTED.happened_at + later)
    assert (view.job_status.state, folder.secrets.exists()) == (state, there)


def test_secrets_of_a_never_submitted_job_are_removed(tmp_path: Path) -> None:
    """Its submit was killed before it asked."""
    folder = job_folder(tmp_path, CREATED, INTENT)
    folder.secrets.mkdir()
    for later, ended_by_then in ((100, False), (181, True)):
        assert stepped(folder, FakeBackend(), INTENT.happened_at + later).job_status.ended == ended_by_then
        assert folder.secrets.exists() != ended_by_then


CLAIM = "7 0\n"


@pytest.mark.parametrize(
    ("nodes", "lost", "claim", "named"),
    [
        ("n1", {}, "", "n1"),
        ("n[1-3]", {}, CLAIM, "n1"),  # of the batch script, which left no result
        ("n[1-3]", {}, "", ""),
        ("n[1-3]", {}, "8 0\n", ""),
        ("n1,n2,n3", {"n2": "Not responding", "n9": ""}, CLAIM, "n2"),
        ("n[", {}, CLAIM, ""),
    ],
)
@pytest.mark.parametrize("retries", [0, 1])
def test_a_lost_node_is_named_even_after_its_return(
    tmp_path: Path, nodes: str, lost: dict[str, str], claim: str, named: str, retries: int
) -> None:
    folder, backend = job(tmp_path, retry_limit=1, max_transient_retries=retries), FakeBackend()
    ended(backend, state="NODE_FAIL", nodes=nodes)
    backend.lost = lost
    if claim:
        folder.claim(0).parent.mkdir(parents=True)
        folder.claim(0).write_text(claim)
    view = stepped(folder, backend, NOW)
    known = folder.history()
    (end,) = known.retries or (known.ended,)
    assert end is not None
    assert end.reason.partition(";")[0] == ("a node failed" + (f": {named}" if named else ""))
    if retries:
        assert known.retries[0].blamed_nodes == ((named,) if named else ())
        assert backend.submissions[0].exclude == known.retries[0].blamed_nodes
        assert (known.counters.used, known.counters.transient) == (0, 1)
    else:
        assert view.job_status.reason == end.reason


def test_a_lost_node_not_named_by_the_script_is_added_to_the_reason(tmp_path: Path) -> None:
    folder, backend = job(tmp_path, max_transient_retries=0), FakeBackend()
    leave_result(folder, outcome="failed", exit_code=-1001, behaviour="transient", reason="a node was lost")
    ended(backend, state="NODE_FAIL", nodes="n1,n2")
    backend.lost = {"n2": ""}
    assert stepped(folder, backend, NOW).job_status.reason.startswith("a node was lost: n2")


@pytest.mark.parametrize(("spare_nodes", "exclude"), [(None, ("n2", "n1")), (1, ("n2",)), (0, ())])
def test_no_more_than_the_spare_nodes_are_excluded(
    tmp_path: Path, spare_nodes: int | None, exclude: tuple[str, ...]
) -> None:
    folder, backend = job(tmp_path, spare_nodes=spare_nodes), FakeBackend()
    other = task(1, exit_code=1, state="FAILED", node="n3")  # its code is not the attempt's
    failed = task(0, exit_code=223, state="FAILED", node="n1")
    leave_result(folder, **KILLED | {"exit_code": 223, "tasks": [failed, other]})
    ended(backend)
    stepped(folder, backend, NOW)
    failed = task(0, exit_code=223, state="FAILED", node="n2")
    leave_result(folder, **KILLED | {"exit_code": 223, "tasks": [failed, other]})
    folder.result(1).write_bytes(folder.result(0).read_bytes())
    ended(backend, "101")
    stepped(folder, backend, NOW)
    stepped(folder, backend, NOW + 10)
    assert backend.submissions[1].exclude == exclude
    assert folder.history().excluded_nodes(NOW + 24 * 3600 + 1) == ()


@pytest.mark.parametrize(
    ("code", "spare_nodes", "submitted"), [(-1408, 0, 1), (-1408, 1, 2), (-1408, None, 2), (223, 0, 2)]
)
def test_a_bad_node_without_another_one_is_named_and_checked_twice(
    tmp_path: Path, code: int, spare_nodes: int | None, submitted: int
) -> None:
    """The preflight would find the same again; other failures may be over."""
    folder, backend = job(tmp_path, spare_nodes=spare_nodes), FakeBackend()
    failed = task(0, exit_code=code, state="FAILED", node="n1")
    leave_result(folder, **KILLED | {"exit_code": code, "behaviour": "transient", "tasks": [failed]})
    ended(backend)
    stepped(folder, backend, NOW)
    rule = folder.history().retries[0].retry_rule
    assert ("; n1 stays: no more nodes can be left out" in rule) == (spare_nodes == 0)
    folder.result(1).write_bytes(folder.result(0).read_bytes())
    ended(backend, "101")
    view = stepped(folder, backend, NOW)
    stepped(folder, backend, NOW + 20)
    assert len(backend.submissions) == submitted
    assert ("n1 failed the preflight again" in view.job_status.reason) == (submitted == 1)


def test_more_bad_nodes_than_an_attempt_excludes_do_not_end_a_job(tmp_path: Path) -> None:
    """That number is ours, and says nothing about the partition."""
    folder, backend = job(tmp_path), FakeBackend()
    failed = [task(n, exit_code=-1408, state="FAILED", node=f"n{n}") for n in range(MAX_EXCLUDED + 1)]
    leave_result(folder, **KILLED | {"exit_code": -1408, "behaviour": "transient", "tasks": failed})
    ended(backend)
    stepped(folder, backend, NOW)
    assert "stays" not in folder.history().retries[0].retry_rule


def test_a_refused_exclusion_does_not_refuse_the_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, backend = job(tmp_path), FakeBackend()
    ended(backend, state="NODE_FAIL", nodes="n1")
    backend.lost = {"n1": ""}
    submit = backend.submit

    def picky(submission: Any) -> JobId:
        backend.fails = "refuses" if submission.exclude else ""
        return submit(submission)

    monkeypatch.setattr(backend, "submit", picky)
    assert stepped(folder, backend, NOW).history.job_id == "101"
    assert [submission.exclude for submission in backend.submissions] == [()]


def test_an_attempt_over_the_hourly_limit_waits(tmp_path: Path) -> None:
    folder, backend = failed_job(tmp_path)
    full = stepped(folder, backend, NOW, room_at=NOW + 500)
    assert (full.job_status.state, full.job_status.ended, full.room_at) == ("RUNNING", False, NOW + 500)
    assert full.job_status.reason == (
        f"waiting for attempt 2, which is held back until {format_time(NOW + 500)}: the site's limit on retries per "
        "hour is reached (`retry.maxAttemptsPerHour`); attempt 1 ended with 255: worker-0 failed"
    )
    assert kinds(folder) == ["Retry"]
    again = stepped(folder, backend, NOW + 4000, room_at=NOW + 4001)
    assert f"waiting for attempt 2, which is held back until {format_time(NOW + 4001)}: " in again.job_status.reason
    assert stepped(folder, backend, NOW + 4001, room_at=NOW + 4001).history.job_id == "101"
    assert kinds(folder) == ["Retry", "Intent", "Submitted"]


def test_a_cancelled_job_does_not_wait_for_the_hourly_limit(tmp_path: Path) -> None:
    folder, backend = failed_job(tmp_path)
    stepped(folder, backend, NOW, room_at=NOW + 500)
    folder.append(Cancelled(happened_at=NOW, attempt=0, user="alice"))
    view = stepped(folder, backend, NOW + 1, room_at=NOW + 500)
    assert (view.job_status.state, view.room_at) == ("STOPPED", None)


def test_a_manual_requeue_becomes_a_new_attempt(tmp_path: Path) -> None:
    folder, backend = job(tmp_path), FakeBackend()
    leave_result(folder, outcome="requeued", exit_code=-100, behaviour="transient", reason="Slurm restarted the job")
    ended(backend, status=3)
    view = stepped(folder, backend, NOW)
    assert (view.history.attempt, view.history.retries[0].exit_code) == (1, -100)


def test_the_first_record_of_an_end_counts(tmp_path: Path) -> None:
    folder, backend = failed_job(tmp_path)
    stepped(folder, backend, NOW)
    append(folder.journal, replace(ENDED, happened_at=NOW))
    known = folder.history()
    assert (known.attempt, known.ended, known.counters.used) == (1, None, 1)


@pytest.mark.parametrize(("backend", "calls"), [("slurm", 1), ("local", 0)])
def test_a_cancel_that_slurm_has_forgotten_is_repeated(tmp_path: Path, backend: str, calls: int) -> None:
    """A controller that is killed forgets the last seconds. A local job may take its time to end."""
    folder = job_folder(tmp_path, CREATED, INTENT, replace(SUBMITTED, backend=backend))
    folder.append(Cancelled(happened_at=NOW, attempt=0, user="alice", job_id="7"))
    slurm = FakeBackend(observed("PENDING"))
    for now in (NOW + 60, NOW + 61, NOW + 62):
        assert stepped(folder, slurm, now).job_status.state == "STOPPING"
    assert slurm.cancelled == ["7"] * calls


FIRST = replace(CREATED, job="first", retry_policy=RetryPolicy(retry_limit=1))


def first(jobs: Path, *records: Record) -> JobFolder:
    folder = job_folder(jobs, FIRST, INTENT, SUBMITTED, *records, name="alice~first")
    folder.script(0).write_text("#!/bin/bash\n")
    return folder


def step(backend: FakeBackend, *folders: JobFolder, now: int = NOW) -> list[View]:
    means = Dependencies(backend=lambda _: backend, clock=lambda: now, holds_lock=lambda: True, owns=lambda _: True)
    return reconcile([open_job(folder) for folder in folders], means)


@pytest.mark.parametrize("until", ["succeeded", "ended"])
def test_a_dependent_job_waits_for_all_retries_and_is_submitted_once(
    tmp_path: Path, until: Literal["succeeded", "ended"]
) -> None:
    one, two, backend = first(tmp_path), waiting_job(tmp_path, until=until), FakeBackend()
    leave_result(one, outcome="failed", exit_code=255, behaviour="unknown", reason="worker-0 failed")
    ended(backend)
    # The first attempt of the other fails, and is submitted again: that is no end.
    other, view = step(backend, one, two)
    assert (other.history.attempt, view.job_status.state, view.history.job_id) == (1, "WAITING", "")
    assert view.job_status.reason == f"it starts when alice~first has {until}"
    assert [submission.attempt for submission in backend.submissions] == [1]
    one.result(1).write_bytes(one.result(0).read_bytes().replace(b'"failed"', b'"succeeded"').replace(b"255", b"0"))
    ended(backend, "101", "COMPLETED")
    other, view = step(backend, one, two)
    assert (other.job_status.state, view.history.job_id) == ("SUCCEEDED", "102")
    assert (view.job_status.state, view.job_status.reason) == ("WAITING", "attempt 1 has been submitted")
    assert [(each.job, each.attempt, each.tag) for each in backend.submissions][1:] == [
        ("second", 0, "paislurm-second@far")
    ]
    step(backend, one, two)
    assert len(backend.submissions) == 2


@pytest.mark.parametrize("state", ["FAILED", "STOPPED"])
def test_a_failed_dependency_ends_all_dependent_jobs(tmp_path: Path, state: str) -> None:
    one, backend = first(tmp_path, replace(ENDED, state=state)), FakeBackend()
    two = waiting_job(tmp_path)
    three = waiting_job(tmp_path, name="a-third", after=("second", NOW - 50))
    fourth = waiting_job(tmp_path, until="ended", name="a-fourth", after=("a-third", NOW - 50))
    views = step(backend, fourth, three, two, one)
    assert [view.job_status.state for view in views] == ["WAITING", "STOPPED", "STOPPED", state]
    assert views[2].job_status.reason == (
        f"never submitted: it was to start after alice~first has succeeded, and that job is {state} (exit code 255)"
    )
    assert views[1].job_status.reason.endswith("alice~second has succeeded, and that job is STOPPED (exit code -210)")
    assert views[0].history.job_id == "101"
    assert isinstance(open_job(two).history.ended, Ended)


def test_a_job_that_waits_for_any_end_starts_after_a_failure(tmp_path: Path) -> None:
    first(tmp_path, ENDED)
    assert stepped(waiting_job(tmp_path, until="ended"), FakeBackend(), NOW).history.job_id == "101"


def test_a_dependency_that_version_0_2_0_renamed_is_found(tmp_path: Path) -> None:
    one, two = first(tmp_path, replace(ENDED, state="SUCCEEDED", exit_code=0)), waiting_job(tmp_path)
    one.path.rename(tmp_path / "alice~first.1")
    job_folder(tmp_path, replace(FIRST, happened_at=NOW), INTENT, SUBMITTED, name="alice~first")
    assert stepped(two, FakeBackend(), NOW).history.job_id == "101"


@pytest.mark.parametrize(("until", "state"), [("succeeded", "STOPPED"), ("ended", "WAITING")])
def test_a_removed_dependency_has_ended_with_unknown_result(
    tmp_path: Path, until: Literal["succeeded", "ended"], state: str
) -> None:
    view = stepped(waiting_job(tmp_path, until=until), FakeBackend(), NOW)
    assert (view.job_status.state, bool(view.history.job_id)) == (state, until == "ended")
    assert until == "ended" or view.job_status.reason.endswith("and that job was removed")


def test_an_unreadable_dependency_is_waited_for(tmp_path: Path) -> None:
    one, two = first(tmp_path), waiting_job(tmp_path)
    one.journal.unlink()
    one.journal.symlink_to(one.journal.name)
    view = stepped(two, FakeBackend(), NOW)
    assert (view.job_status.state, view.job_status.ended) == ("WAITING", False)
    assert "cannot be read" in view.job_status.reason


def test_a_waiting_job_can_be_cancelled(tmp_path: Path) -> None:
    first(tmp_path)
    two, backend = waiting_job(tmp_path), FakeBackend()
    append(two.journal, Cancelled(happened_at=NOW, attempt=0, user="alice"))
    status = stepped(two, backend, NOW).job_status
    assert (status.state, status.code, backend.submissions) == ("STOPPED", -210, [])
    assert status.reason == "cancelled by alice before it was submitted"


def test_a_cancelled_dependency_is_reported_before_its_end_is_recorded(tmp_path: Path) -> None:
    one, two = first(tmp_path), waiting_job(tmp_path)
    append(one.journal, Cancelled(happened_at=NOW, attempt=0, user="alice"))
    view = stepped(two, FakeBackend(), NOW)
    assert (view.job_status.state, view.job_status.reason) == (
        "WAITING",
        "it starts when alice~first has succeeded; alice~first was cancelled",
    )


def test_a_lost_first_attempt_is_submitted_again_with_the_same_tag(tmp_path: Path) -> None:
    """As after kill -9 between the intent and the answer: the tag tells whether the backend took it."""
    first(tmp_path, replace(ENDED, state="SUCCEEDED", exit_code=0))
    two, backend = waiting_job(tmp_path), FakeBackend()
    append(two.journal, replace(INTENT, happened_at=NOW, tag="paislurm-second@far"))
    assert (stepped(two, backend, NOW).history.job_id, backend.submissions) == ("", [])
    backend.tags = {}
    later = NOW + SETTLED_SECONDS + 1
    assert stepped(two, backend, later).history.job_id == "101"
    assert [each.tag for each in backend.submissions] == ["paislurm-second@far"]


def test_nothing_is_submitted_without_the_lock(tmp_path: Path) -> None:
    first(tmp_path, replace(ENDED, state="SUCCEEDED", exit_code=0))
    backend = FakeBackend()
    view = stepped(waiting_job(tmp_path), backend, NOW, held=lambda: False)
    assert (backend.submissions, view.job_status.state) == ([], "WAITING")
    assert view.job_status.reason == "all dependencies are fulfilled; it is submitted next"


def test_nothing_is_recorded_where_another_job_has_the_path_of_an_undone_submit(tmp_path: Path) -> None:
    """A process that stalled may still have read the job of that submit."""
    folder = job_folder(tmp_path, CREATED, INTENT)
    view = View(
        folder=folder, history=folder.history(), job_status=JobStatus.so_far("WAITING", said("")), news=(ENDED,)
    )
    other = b"".join(map(dump, (replace(CREATED, happened_at=NOW), INTENT)))
    folder.journal.write_bytes(other)
    with pytest.raises(OSError, match="another job's now"):
        record_news(view, lambda _: FakeBackend())
    assert (folder.journal.read_bytes(), folder.claim(0).exists()) == (other, False)
