"""Why a job waits: all components, in words, from when on; and what of it the journal keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.translator.monitor.explained_waits import REASON_SECONDS, is_change, waits, waits_by_journal
from paislurm.translator.state.history import MAX_REASONS, apply, history
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import JobRole, Observed
from paislurm.translator.view.waits import advice, sentence

from .jobs import CREATED, ENDED, INTENT, NOW, SUBMITTED, FakeBackend, job_folder, observed, stepped

ROLES = tuple(JobRole(name=name, folder=f"{k}-{name}", instances=1) for k, name in enumerate(("ps", "worker", "eval")))
THREE = history([replace(CREATED, roles=ROLES), SUBMITTED])
STUCK = ("Resources", "PartitionTimeLimit", "PartitionTimeLimit")


def test_components_are_named_by_role_and_grouped_by_reason() -> None:
    found = waits(STUCK, THREE)
    assert [(wait.role_names, wait.kind) for wait in found] == [(("ps",), "turn"), (("worker", "eval"), "stuck")]
    assert sentence(found) == (
        "it cannot start as it is: Resources (ps): other jobs use the resources that it requests; "
        "PartitionTimeLimit (worker, eval): its time limit exceeds that of its partition"
    )
    assert ["lower `extras.slurm.time`" in advice(found), "shorter" in advice(found)] == [True, False]
    assert sentence(waits(("None", "BeginTime", ""), THREE)).startswith("BeginTime (worker): ")


def test_a_common_reason_names_no_components() -> None:
    found = waits(("Resources",) * 3, THREE)
    assert (found[0].role_names, sentence(found)) == ((), "Resources: other jobs use the resources that it requests")
    assert "its 3 components need separate nodes" in advice(found)
    assert "share no node" not in advice(waits(("Resources",), THREE))
    assert "`paislurm update demo --release`" in advice(waits(("JobHeldUser",), THREE))


def test_an_unexpected_number_of_components_is_named_by_number() -> None:
    assert sentence(waits(("Priority", "BeginTime"), THREE)).endswith(
        "BeginTime (component 1): its earliest start time has not come"
    )


def test_an_unknown_reason_is_unchanged() -> None:
    assert sentence(waits(("TeaBreak",), THREE)) == "TeaBreak"
    assert sentence(waits(("",), THREE)) == sentence(waits(("None",), THREE)) == advice(()) == ""


@pytest.mark.parametrize(
    ("interval", "words"),
    [(45, "every 45 s (`bf_interval`)"), (None, "every 30 s, or the site's `bf_interval`")],
)
def test_a_heterogeneous_job_without_a_reason_waits_for_the_backfill_scheduler(
    tmp_path: Path, interval: int | None, words: str
) -> None:
    """Nothing else starts it, however idle the cluster is; of one allocation nothing is to be said."""
    folder = job_folder(tmp_path, replace(CREATED, roles=ROLES, backfill_interval=interval), INTENT, SUBMITTED)
    seen = observed("PENDING", reasons=("",) * 3)
    status = stepped(folder, FakeBackend(seen), NOW).job_status
    (wait,) = status.waits
    assert (wait.backend_reason, wait.kind, wait.role_names, status.since) == ("None", "turn", (), NOW)
    assert status.reason == wait.meaning
    assert status.reason.startswith("only the backfill scheduler starts jobs with a component for each role; it runs")
    assert status.reason.endswith(words)
    assert "`extras.slurm.layout: shared`" in advice(status.waits)
    assert waits_by_journal(folder.history()) == status.waits
    assert waits(("None",), THREE) == ()


def test_a_changed_reason_is_recorded_and_reported(tmp_path: Path) -> None:
    folder = job_folder(tmp_path, replace(CREATED, roles=ROLES), INTENT, SUBMITTED)
    reported = []
    steps = (("None",), ("Priority", "Priority", "Resources"), ("Resources",) * 3, STUCK, STUCK)
    for minute, reasons in enumerate(steps):
        seen = observed("PENDING", reason=reasons[0], reasons=reasons)
        reported.append(stepped(folder, FakeBackend(seen), NOW + 60 * minute).job_status.since)
    assert reported == [None, NOW + 60, NOW + 60, NOW + 180, NOW + 180]
    kept = [record.backend_reasons for record in read(folder.journal).records if isinstance(record, Observed)]
    assert kept == [("None",), steps[1], STUCK]
    backend = FakeBackend()
    backend.fails = "away"
    away = stepped(folder, backend, NOW + 900).job_status
    assert (away.since, [wait.backend_reason for wait in away.waits]) == (
        NOW + 180,
        ["Resources", "PartitionTimeLimit"],
    )


def test_reasons_for_waiting_can_be_read_from_the_journal() -> None:
    pending = Observed(
        happened_at=NOW, attempt=0, backend_state="PENDING", backend_reason="Resources", backend_reasons=STUCK
    )
    assert waits_by_journal(history([replace(CREATED, roles=ROLES), SUBMITTED, pending])) == waits(STUCK, THREE)
    old = replace(pending, backend_reasons=())
    assert [wait.backend_reason for wait in waits_by_journal(history([CREATED, SUBMITTED, old]))] == ["Resources"]
    assert waits_by_journal(history([CREATED, SUBMITTED, replace(pending, backend_state="RUNNING")])) == ()
    assert waits_by_journal(history([CREATED, SUBMITTED, pending, ENDED])) == waits_by_journal(THREE) == ()


words = st.sampled_from(("None", "", "Priority", "Resources", "Dependency", "PartitionTimeLimit", "TeaBreak, n1"))


@given(st.lists(st.tuples(st.integers(1, 30), st.lists(words, min_size=2, max_size=2)), max_size=60))
def test_alternating_reasons_are_recorded_rarely(looks: list[tuple[int, list[str]]]) -> None:
    known, now, kept = history([CREATED, SUBMITTED]), NOW, 0
    for seconds, reasons in looks:
        now += seconds
        seen = observed("PENDING", reasons=tuple(reasons))
        if is_change(known, seen, now):
            record = Observed(
                happened_at=now, attempt=0, backend_state="PENDING", backend_reason="", backend_reasons=tuple(reasons)
            )
            known, kept = apply(known, [record]), kept + 1
    assert kept <= len(known.waited) + 1 + (now - NOW) // REASON_SECONDS


@pytest.mark.parametrize(
    "change", [lambda seen: replace(seen, backend_state="RUNNING"), lambda seen: replace(seen, backend_state="FAILED")]
)
def test_a_new_state_is_a_change_but_a_new_reason_is_not(change: Callable[[Observed], Observed]) -> None:
    last = change(Observed(happened_at=NOW, attempt=0, backend_state="", backend_reason="a"))
    known = history([CREATED, SUBMITTED, last])
    assert not is_change(known, observed(last.backend_state, reason="b"), NOW + 999)
    assert is_change(known, observed("COMPLETED"), NOW)


def test_a_better_reason_is_recorded_at_once_and_a_repeated_one_later() -> None:
    """As observed on 22.05: PartitionConfig right after the submission, PartitionTimeLimit from then on."""
    first = Observed(happened_at=NOW, attempt=0, backend_state="PENDING", backend_reason="PartitionConfig")
    second = replace(first, happened_at=NOW + 2, backend_reason="PartitionTimeLimit")
    known = history([CREATED, SUBMITTED, first])
    assert is_change(known, observed("PENDING", reason="PartitionTimeLimit"), NOW + 2)
    known = apply(known, [second])
    assert not is_change(known, observed("PENDING", reason="PartitionConfig"), NOW + 61)
    assert is_change(known, observed("PENDING", reason="PartitionConfig"), NOW + 62)
    assert is_change(known, observed("PENDING", reason="JobHeldUser"), NOW + 3)
    many = apply(known, [replace(second, backend_reason=f"R{number}") for number in range(99)])
    assert not is_change(many, observed("PENDING", reason="JobHeldUser"), NOW + 3)
    assert len(many.waited) == MAX_REASONS
