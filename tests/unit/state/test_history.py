"""Records fold into how a job stands."""

from __future__ import annotations

from paislurm.translator.state.history import History, history
from paislurm.translator.state.records import Cancelled, Intent, Observed

from ..monitor.jobs import CREATED, ENDED, INTENT, NOW, ROLES, SUBMITTED


def test_a_job_from_its_first_to_its_last_record() -> None:
    seen = Observed(happened_at=NOW, attempt=0, backend_state="RUNNING", backend_reason="")
    asked = Cancelled(happened_at=NOW, attempt=0, user="alice")
    assert history([]) == History()
    known = history([CREATED, INTENT])
    assert (known.full_name, known.tag, known.job_id, known.tasks) == ("alice~demo", "paislurm-1", "", 2)
    known = history([CREATED, INTENT, SUBMITTED, seen, asked, ENDED])
    assert (known.job_id, known.observed, known.cancelled, known.ended) == ("7", seen, asked, ENDED)
    assert known.roles == ROLES


def test_an_attempt_begins_afresh_and_late_records_of_the_one_before_change_nothing() -> None:
    retry = Intent(happened_at=NOW, attempt=1, tag="paislurm-2")
    known = history([CREATED, INTENT, SUBMITTED, ENDED, retry, ENDED, SUBMITTED])
    assert (known.attempt, known.tag, known.job_id, known.ended) == (1, "paislurm-2", "", None)
    assert known.roles == ROLES


def test_the_end_of_a_journal_tells_who_and_where() -> None:
    known = history([SUBMITTED, ENDED])
    assert (known.full_name, known.backend, known.tasks) == ("alice~demo", "slurm", 2)
    assert known.ended == ENDED
