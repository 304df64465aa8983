"""What a record can be: one line, of a known kind, with values of their kinds and within their limits."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from paislurm.translator.state.journal_records import Cancelled, Created, Record, dump, parse
from paislurm.translator.state.parsed import CorruptDataError

from ..monitor.jobs import CREATED, ENDED, NOW, SUBMITTED
from .any_record import any_record


@given(any_record)
def test_a_record_is_one_line_and_is_read_back(record: Record) -> None:
    line = dump(record)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert parse(line) == record


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"null",
        b'{"version": true, "kind": "intent", "happened_at": 1, "attempt": 0, "tag": "x"}',
        b'{"version": 2, "kind": "intent", "happened_at": 1, "attempt": 0, "tag": 5}',
        b'{"version": 2, "kind": "intent", "happened_at": 1e3, "attempt": 0, "tag": "x"}',
        b'{"version": 2, "kind": ["intent"], "happened_at": 1, "attempt": 0, "tag": "x"}',
        b'{"version": 2, "kind": "created", "happened_at": 1, "job": "", "user": "", "backend": "", "roles": [1]}',
        b"[" * 100_000,
        b'{"version": ' + b"9" * 10_000 + b"}",
        b"\xff\xfe",
    ],
)
def test_invalid_records_count_as_damage(line: bytes) -> None:
    with pytest.raises(CorruptDataError):
        parse(line)


def test_a_job_without_a_recorded_policy_is_never_retried() -> None:
    line = (
        b'{"version": 2, "kind": "created", "happened_at": 1, "job": "j", "user": "u", "backend": "slurm", '
        b'"roles": [{"name": "w", "folder": "0-w", "instances": 2}]}'
    )
    record = parse(line)
    assert isinstance(record, Created)
    assert (record.retry_policy.retry_limit, record.retry_policy.max_transient_retries, record.notify) == (0, 0, ())


@pytest.mark.parametrize(("version", "which"), [(1, "an earlier"), (3, "a later")])
def test_records_of_another_version_are_refused(version: int, which: str) -> None:
    with pytest.raises(CorruptDataError, match=f"written by {which} version"):
        parse(line(CREATED, version=version))


@pytest.mark.parametrize(
    "wrong",
    [
        b'"retry_policy": 1',
        b'"retry_policy": {"retry_limit": "1"}',
        b'"retry_policy": {"on_timeout": "maybe"}',
        b'"exit_rows": [{"exit_code": 1, "behaviour": "odd"}]',
        b'"exit_rows": [{"exit_code": 1, "backend_states": {"A": 1}}]',
        b'"exit_rows": [{"exit_code": 1, "exclude_node": 1}]',
        b'"notify": [1]',
    ],
)
def test_invalid_policies_are_refused(wrong: bytes) -> None:
    line = b'{"version": 2, "kind": "created", "happened_at": 1, "job": "", "user": "", "backend": "", "roles": [], %s}'
    with pytest.raises(CorruptDataError):
        parse(line % wrong)


def line(record: Record, **changes: object) -> bytes:
    return json.dumps(json.loads(dump(record)) | changes).encode()


@pytest.mark.parametrize(
    "word", ["--user=root", "7,8", "7 8", "-1", "0", "7+1", "7_1", "²", "٣", "2147483648", "9" * 5000]
)
def test_an_invalid_job_id_is_refused(word: str) -> None:
    """It comes to scancel and squeue: an option would be obeyed, a number that is too large stops a query for all."""
    for record in (SUBMITTED, Cancelled(happened_at=NOW, attempt=0, user="alice", job_id="7")):
        assert parse(line(record)) == record
        with pytest.raises(CorruptDataError, match="`job_id` is not the number of a job"):
            parse(line(record, job_id=word))


@pytest.mark.parametrize(
    ("record", "changes"),
    [
        (CREATED, {"roles": [{"name": "worker", "folder": "0-worker", "instances": 1 << 40}]}),
        (CREATED, {"roles": [{"name": "worker", "folder": "0-worker", "instances": -1}]}),
        (CREATED, {"roles": [{"name": str(n), "folder": str(n), "instances": 10_000} for n in range(30)]}),
        (CREATED, {"roles": [{"name": str(n), "folder": str(n), "instances": 0} for n in range(10_001)]}),
        (CREATED, {"roles": [{"name": "worker", "folder": "../../..", "instances": 1}]}),
        (CREATED, {"roles": [{"name": "worker", "folder": "..", "instances": 1}]}),
        (SUBMITTED, {"attempt": -1}),
        (SUBMITTED, {"attempt": 1 << 50}),
        (SUBMITTED, {"task_count": 1 << 50}),
        (ENDED, {"completed": -1}),
    ],
)
def test_counts_out_of_range_and_folders_outside_the_job_are_refused(
    record: Record, changes: dict[str, object]
) -> None:
    assert parse(line(record)) == record
    with pytest.raises(CorruptDataError):
        parse(line(record, **changes))
