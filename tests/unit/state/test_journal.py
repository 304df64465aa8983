"""The journal loses at most what was being written when the machine went down."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.exit_codes.table import BEHAVIOURS, SiteRow
from paislurm.translator.monitor.poll import open_job
from paislurm.translator.state import history as history_module
from paislurm.translator.state.journal import END, append, read, read_last
from paislurm.translator.state.records import (
    Cancelled,
    Created,
    Ended,
    Intent,
    JobRole,
    Notified,
    Observed,
    Retry,
    RetryPolicy,
    Submitted,
    dump,
    parse,
)
from paislurm.translator.state.safe_read import CorruptDataError

from ..monitor.jobs import CREATED, ENDED, INTENT, NOW, SUBMITTED, job_folder

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from paislurm.translator.state.history import History
    from paislurm.translator.state.records import Record

numbers = st.integers(0, 1 << 40)
counts = st.integers(0, 999_999_999)
words = st.text(max_size=20)
ids = st.integers(1, (1 << 31) - 1).map(str) | st.just("")
folders = words.filter(lambda name: "/" not in name and name not in ("", ".", ".."))
roles = st.builds(JobRole, name=words, folder=folders, instances=st.integers(0, 50_000))
behaviours = st.sampled_from(BEHAVIOURS)
rows = st.builds(
    SiteRow,
    code=st.integers(-9, 9),
    phrase=st.none() | words,
    behaviour=st.none() | behaviours,
    states=st.dictionaries(words, words, max_size=2),
    exclude_node=st.none() | st.booleans(),
)
any_record = st.one_of(
    st.builds(
        Created,
        time=numbers,
        job=words,
        user=words,
        backend=words,
        roles=st.lists(roles, max_size=3).map(tuple),
        policy=st.builds(
            RetryPolicy, limit=st.integers(-2, 9), max_transient_retries=numbers, spare_nodes=st.none() | numbers
        ),
        exit_rows=st.lists(rows, max_size=2).map(tuple),
        notify=st.lists(words, max_size=2).map(tuple),
    ),
    st.builds(Intent, time=numbers, attempt=counts, tag=words),
    st.builds(
        Submitted,
        time=numbers,
        attempt=counts,
        job_id=ids,
        job=words,
        user=words,
        backend=words,
        tasks=st.integers(0, 250_000),
    ),
    st.builds(
        Observed,
        time=numbers,
        attempt=counts,
        state=words,
        reason=words,
        reasons=st.lists(words, max_size=3).map(tuple),
    ),
    st.builds(Cancelled, time=numbers, attempt=counts, user=words, job_id=ids),
    st.builds(Notified, time=numbers, attempt=counts, key=words, delivered=st.booleans()),
    st.builds(
        Retry,
        time=numbers,
        attempt=counts,
        code=st.integers(-8000, 255),
        behaviour=behaviours,
        reason=words,
        rule=words,
        retry_at=numbers,
        total=counts,
        used=counts,
        transient=counts,
        nodes=st.lists(words, max_size=2).map(tuple),
        backend_state=words,
        started=st.none() | numbers,
        ended=st.none() | numbers,
    ),
    st.builds(
        Ended,
        time=numbers,
        attempt=counts,
        state=words,
        code=st.none() | st.integers(-8000, 255),
        reason=words,
        backend_state=words,
        started=st.none() | numbers,
        ended=st.none() | numbers,
        completed=counts,
    ),
)


@given(any_record)
def test_a_record_is_one_line_and_comes_back(record: Record) -> None:
    line = dump(record)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert parse(line) == record


@given(st.lists(any_record, min_size=1, max_size=6), st.data())
def test_a_cut_loses_at_most_the_last_record(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], data: st.DataObject
) -> None:
    journal = tmp_path_factory.mktemp("cut") / "journal.jsonl"
    whole = b"".join(dump(record) for record in records)
    cut = data.draw(st.integers(0, len(whole)))
    journal.write_bytes(whole[:cut])
    complete = whole[:cut].count(b"\n")

    found = read(journal)

    assert found.records[:complete] == tuple(records[:complete])
    assert len(found.records) <= complete + 1
    torn = cut > 0 and whole[cut - 1 : cut] != b"\n" and len(found.records) == complete
    assert bool(found.read_errors) == torn

    append(journal, CREATED)
    assert read(journal).records[-1] == CREATED
    assert read(journal).records[:complete] == tuple(records[:complete])


def test_a_slow_monitor_writes_nothing_about_the_job_that_took_the_name(tmp_path: Path) -> None:
    """It has read the old job's journal, and writes when its folder is another job's."""
    first = open_job(job_folder(tmp_path, CREATED, INTENT, SUBMITTED)).folder
    first.path.rename(tmp_path / "alice~demo.1")
    second = job_folder(tmp_path, CREATED, INTENT)
    second.secrets.mkdir()
    with pytest.raises(OSError, match="another job's") as refused:
        first.append(ENDED)
    assert refused.value.errno == errno.ESTALE
    assert read(second.journal).records == (CREATED, INTENT)
    assert second.secrets.is_dir()
    open_job(second).folder.append(ENDED)
    assert read(second.journal).records == (CREATED, INTENT, ENDED)
    assert not second.secrets.exists()


def test_damage_is_told(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    later = dump(CREATED).replace(b'"version": 1', b'"version": 2')
    unknown = dump(INTENT).replace(b'"intent"', b'"dream"')
    zeros = b"\0" * 40 + b"\n"
    journal.write_bytes(dump(CREATED) + b"rubbish\n" + later + unknown + zeros + dump(INTENT) + b'{"version"')
    found = read(journal)
    assert found.records == (CREATED, INTENT)
    assert found.read_errors == (
        "line 2 cannot be read: it is not JSON",
        "line 3 cannot be read: it was written by a later version",
        "line 4 cannot be read: no such kind of record",
        "its last line is torn",
    )


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"null",
        b'{"version": true, "kind": "intent", "time": 1, "attempt": 0, "tag": "x"}',
        b'{"version": 1, "kind": "intent", "time": 1, "attempt": 0, "tag": 5}',
        b'{"version": 1, "kind": "intent", "time": 1e3, "attempt": 0, "tag": "x"}',
        b'{"version": 1, "kind": ["intent"], "time": 1, "attempt": 0, "tag": "x"}',
        b'{"version": 2, "kind": "created", "happened_at": 1, "job": "", "user": "", "backend": "", "roles": [1]}',
        b"[" * 100_000,
        b'{"version": ' + b"9" * 10_000 + b"}",
        b"\xff\xfe",
    ],
)
def test_what_is_no_record_is_damage(line: bytes) -> None:
    with pytest.raises(CorruptDataError):
        parse(line)


def test_the_end_of_a_long_journal_is_enough(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    seen = [Observed(happened_at=NOW, attempt=0, backend_state="RUNNING", backend_reason="x" * 80)] * 1000
    journal.write_bytes(b"".join(map(dump, [CREATED, INTENT, SUBMITTED, *seen, ENDED])))
    assert journal.stat().st_size > END
    found = read_last(journal)
    assert found.records[-1] == ENDED
    assert len(found.records) < 400
    assert not found.read_errors


def test_a_journal_whose_end_says_little_is_read_whole(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    seen = [Observed(happened_at=NOW, attempt=0, backend_state="RUNNING", backend_reason="x" * 80)] * 1000
    journal.write_bytes(b"".join(map(dump, [CREATED, INTENT, SUBMITTED, *seen])))
    assert read_last(journal).records[0] == CREATED


def test_a_journal_is_private(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    append(journal, CREATED)
    assert journal.stat().st_mode & 0o777 == 0o600


def test_a_job_whose_journal_names_no_policy_is_never_retried() -> None:
    line = (
        b'{"version": 2, "kind": "created", "happened_at": 1, "job": "j", "user": "u", "backend": "slurm", '
        b'"roles": [{"name": "w", "folder": "0-w", "instances": 2}]}'
    )
    record = parse(line)
    assert isinstance(record, Created)
    assert (record.retry_policy.retry_limit, record.retry_policy.max_transient_retries, record.notify) == (0, 0, ())


@pytest.mark.parametrize(("version", "which"), [(1, "an earlier"), (3, "a later")])
def test_what_another_version_wrote_is_left_alone(version: int, which: str) -> None:
    with pytest.raises(CorruptDataError, match=f"it was written by {which} version"):
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
def test_what_a_policy_cannot_be(wrong: bytes) -> None:
    line = b'{"version": 2, "kind": "created", "happened_at": 1, "job": "", "user": "", "backend": "", "roles": [], %s}'
    with pytest.raises(CorruptDataError):
        parse(line % wrong)


def line(record: Record, **changes: object) -> bytes:
    return json.dumps(json.loads(dump(record)) | changes).encode()


@pytest.mark.parametrize(
    "word", ["--user=root", "7,8", "7 8", "-1", "0", "7+1", "7_1", "²", "٣", "2147483648", "9" * 5000]
)
def test_the_number_of_a_job_is_one(word: str) -> None:
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
def test_counts_have_limits_and_folders_are_below_the_jobs(record: Record, changes: dict[str, object]) -> None:
    assert parse(line(record)) == record
    with pytest.raises(CorruptDataError):
        parse(line(record, **changes))


def test_taking_in_a_record_copies_nothing_of_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
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
    told = [Notified(happened_at=NOW, attempt=0, key=str(number), delivered=True) for number in range(1000)]
    retries = [replace(retry, attempt=number, retries=number) for number in range(1000)]
    monkeypatch.setattr(history_module, "replace", counted)
    known = history_module.history([*told, *retries])
    assert (len(known.notified), len(known.retries), known.counters.total) == (1000, 1000, 999)
    assert copied <= 4000


def test_a_journal_of_rubbish_is_told_in_few_lines(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(dump(INTENT) + b"\n" * 1000 + b"x\n" * 99_000 + dump(SUBMITTED))
    found = read(journal)
    assert found.records == (INTENT, SUBMITTED)
    assert found.read_errors[0] == "line 1002 cannot be read: it is not JSON"
    assert found.read_errors[20:] == ("98980 more lines cannot be read",)
    journal.write_bytes(b"x\n" * 200_000)
    assert read(journal).read_errors[20:] == ("99980 more lines cannot be read; the rest was not tried",)
