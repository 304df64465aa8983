"""What `update` wrote into a journal: how it changes what the monitor does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.backends.batch_script import components
from paislurm.translator.state.changes import changed_options, retry_limit
from paislurm.translator.state.history import history
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Changed

from ..state.any_record import maps
from .jobs import (
    CREATED,
    ENDED,
    FAILED,
    INTENT,
    NOW,
    SUBMITTED,
    FakeBackend,
    ended,
    failed_job,
    job_folder,
    leave_result,
    stepped,
    waiting_job,
)

SCRIPT = "#!/bin/bash -p\n#SBATCH --time=01:00:00\n#SBATCH --partition=old\ntrue\n"


def changed(attempt: int = 0, job_id: str = "", **values: str) -> Changed:
    """Return a change by the job's user."""
    return Changed(happened_at=NOW, attempt=attempt, user="alice", values=values, old_values={}, job_id=job_id)


def options(folder: JobFolder, attempt: int) -> dict[str, str]:
    """Return what the script of an attempt asks of Slurm."""
    return dict(components(folder.script(attempt).read_text(encoding="utf-8"))[0].options)


def test_a_retry_uses_the_changed_options(tmp_path: Path) -> None:
    folder, backend = failed_job(tmp_path)
    folder.script(0).write_text(SCRIPT, encoding="utf-8")
    folder.append(changed(time="02:00:00", job_id="7"))
    folder.append(changed(time="03:00:00", account="lab", job_id="7"))
    assert stepped(folder, backend, NOW).history.attempt == 1
    assert options(folder, 1) == {"time": "03:00:00", "partition": "old", "account": "lab"}
    assert folder.script(0).read_text(encoding="utf-8") == SCRIPT
    assert not backend.submissions[0].held


LATE = replace(changed(retries="2"), old_values={"retries": "0"})
"""A change at NOW by a process that may have read the job before its end."""


@pytest.mark.parametrize(
    ("retries", "change", "ended_at", "again"),
    [
        pytest.param(0, changed(retries="1"), NOW - 10, True, id="added during a run"),
        pytest.param(1, changed(retries="0"), NOW - 10, False, id="removed during a run"),
        # Others have seen then that it failed.
        pytest.param(0, LATE, NOW - 3, False, id="added after the result"),
        # Both times have whole seconds, and the user was told of the change.
        pytest.param(0, LATE, NOW, True, id="added in the second of the result"),
    ],
)
def test_changed_retries_count_until_the_result(
    tmp_path: Path, retries: int, change: Changed, ended_at: int, again: bool
) -> None:
    folder, backend = failed_job(tmp_path, retry_limit=retries)
    leave_result(folder, **FAILED | {"ended_at": ended_at})
    folder.append(change)
    view = stepped(folder, backend, NOW)
    assert (view.history.attempt, view.job_status.state) == ((1, "WAITING") if again else (0, "FAILED"))


def test_a_hold_between_attempts_applies_only_to_the_next_one(tmp_path: Path) -> None:
    folder, backend = failed_job(tmp_path)
    folder.append(changed(held="yes", retries="2"))
    stepped(folder, backend, NOW)
    folder.result(1).write_bytes(folder.result(0).read_bytes())
    ended(backend, "101")
    assert stepped(folder, backend, NOW).history.attempt == 2
    assert [submission.held for submission in backend.submissions] == [True, False]


@pytest.mark.parametrize(
    ("records", "held"),
    [
        ([changed(held="yes")], True),
        ([changed(held="yes"), changed(held="no")], False),
        ([changed(held="yes", job_id="7")], False),
        ([changed(held="perhaps")], False),
        ([changed(time="1")], False),
    ],
)
def test_the_next_attempt_is_held_only_by_a_current_hold(records: list[Changed], held: bool) -> None:
    assert history([CREATED, INTENT, SUBMITTED, *records]).holds_next is held


def test_a_waiting_job_is_submitted_with_its_changes(tmp_path: Path) -> None:
    """The first attempt's script is there already: its options are replaced in it."""
    folder = waiting_job(tmp_path, changed(time="02:00:00", held="yes"), until="ended", script=SCRIPT)
    job_folder(tmp_path, CREATED, ENDED, name="alice~first")
    backend = FakeBackend()
    assert stepped(folder, backend, NOW).history.job_id == "101"
    assert options(folder, 0)["time"] == "02:00:00"
    assert backend.submissions[0].held


def test_a_changed_partition_resets_the_spare_nodes() -> None:
    known = history([CREATED, changed(partition="new")])
    assert (known.partition, known.retry_policy.spare_nodes) == ("new", 0)


@given(st.lists(maps, max_size=4))
def test_a_change_with_any_values_is_read(several: list[dict[str, str]]) -> None:
    records = [Changed(happened_at=NOW, attempt=0, user="a", values=values, old_values={}) for values in several]
    known = history([CREATED, *records])
    assert known.changes == tuple(records)
    assert known.retry_policy == CREATED.retry_policy or any(
        {"retries", "partition"} & set(values) for values in several
    )
    assert set(changed_options(records)) <= {"time", "partition", "account", "qos", "nice"}


@given(st.text(max_size=8) | st.integers().map(str))
def test_a_number_of_retries_is_a_small_count_or_nothing(text: str) -> None:
    limit = retry_limit({"retries": text})
    assert limit is None or (0 <= limit <= 1_000_000 and int(text) == limit)
