"""Records fold into how a job stands."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from paislurm.translator.state import history as history_module
from paislurm.translator.state.history import History, history
from paislurm.translator.state.journal_records import Cancelled, Intent, Notified, Observed, Retry

from ..monitor.jobs import CREATED, ENDED, INTENT, NOW, ROLES, SUBMITTED


def test_all_records_of_a_job_are_applied() -> None:
    seen = Observed(happened_at=NOW, attempt=0, backend_state="RUNNING", backend_reason="")
    asked = Cancelled(happened_at=NOW, attempt=0, user="alice")
    assert history([]) == History()
    known = history([CREATED, INTENT])
    assert (known.full_name, known.tag, known.job_id, known.tasks) == ("alice~demo", "paislurm-1", "", 2)
    known = history([CREATED, INTENT, SUBMITTED, seen, asked, ENDED])
    assert (known.job_id, known.observed, known.cancelled, known.ended) == ("7", seen, asked, ENDED)
    assert known.roles == ROLES


def test_late_records_of_an_earlier_attempt_are_ignored() -> None:
    retry = Intent(happened_at=NOW, attempt=1, tag="paislurm-2")
    known = history([CREATED, INTENT, SUBMITTED, ENDED, retry, ENDED, SUBMITTED])
    assert (known.attempt, known.tag, known.job_id, known.ended) == (1, "paislurm-2", "", None)
    assert known.roles == ROLES


def test_the_last_records_contain_user_and_backend() -> None:
    known = history([SUBMITTED, ENDED])
    assert (known.full_name, known.backend, known.tasks) == ("alice~demo", "slurm", 2)
    assert known.ended == ENDED


def test_applying_a_record_copies_no_earlier_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal of 64 MB holds hundreds of thousands of records of one kind."""
    copied = 0

    def counted(known: History, **changes: Any) -> History:
        nonlocal copied
        copied += sum(len(value) for value in changes.values() if isinstance(value, (tuple, frozenset)))
        return replace(known, **changes)

    retry = Retry(
        happened_at=NOW, attempt=0, exit_code=1, behaviour="unknown", reason="", retry_rule="", retry_at=NOW, retries=1,
        used_retries=1, transient_retries=0, blamed_nodes=(), backend_state="", started_at=None, ended_at=None,
    )  # fmt: skip
    reported = [Notified(happened_at=NOW, attempt=0, key=str(number), delivered=True) for number in range(1000)]
    retries = [replace(retry, attempt=number, retries=number) for number in range(1000)]
    monkeypatch.setattr(history_module, "replace", counted)
    known = history([*reported, *retries])
    assert (len(known.notified), len(known.retries), known.counters.total) == (1000, 1000, 999)
    assert copied <= 4000
