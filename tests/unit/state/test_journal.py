"""The journal loses at most what was being written when the machine went down."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.state import journal as module
from paislurm.translator.state.journal import (
    MAX_EARLIER,
    MAX_FIRST,
    MAX_LINES,
    MAX_TAIL,
    SUMMARY_BYTES,
    append,
    read,
    read_last,
)
from paislurm.translator.state.journal_records import Cancelled, Changed, Notified, Observed, Record, dump, parse
from tests.children import child

from ..monitor.jobs import CREATED, ENDED, INTENT, NOW, SUBMITTED
from .any_record import any_record


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


@given(st.lists(any_record, min_size=1, max_size=6), st.data())
def test_truncation_loses_at_most_the_last_record(
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


def test_damage_is_reported(journal: Path) -> None:
    later = dump(CREATED).replace(b'"version": 2', b'"version": 3')
    unknown = dump(INTENT).replace(b'"intent"', b'"dream"')
    zeros = b"\0" * 40 + b"\n"
    journal.write_bytes(dump(CREATED) + b"rubbish\n" + later + unknown + zeros + dump(INTENT) + b'{"version"')
    found = read(journal)
    assert found.records == (CREATED, INTENT)
    assert found.read_errors == (
        "line 2 cannot be read: invalid JSON",
        "line 3 cannot be read: written by a later version of paislurm",
        "line 4 cannot be read: Invalid value 'dream' - at `$.kind`",
        "the last line is incomplete",
    )


@pytest.mark.parametrize("ends", [True, False])
def test_a_long_journal_is_read_completely_only_if_its_end_tells_too_little(journal: Path, ends: bool) -> None:
    seen = [Observed(happened_at=NOW, attempt=0, backend_state="RUNNING", backend_reason="x" * 80)] * 1000
    journal.write_bytes(b"".join(map(dump, [CREATED, INTENT, SUBMITTED, *seen, *[ENDED] * ends])))
    assert journal.stat().st_size > SUMMARY_BYTES
    found = read_last(journal)
    assert (found.records[-1] == ENDED, found.records[0] == CREATED, len(found.records) < 400) == (ends, not ends, ends)
    assert not found.read_errors


def test_a_journal_is_private(journal: Path) -> None:
    append(journal, CREATED)
    assert journal.stat().st_mode & 0o777 == 0o600


def test_a_journal_of_invalid_lines_is_reported_briefly(journal: Path) -> None:
    journal.write_bytes(dump(INTENT) + b"\n" * 1000 + b"x\n" * 9_000 + dump(SUBMITTED))
    found = read(journal)
    assert found.records == (INTENT, SUBMITTED)
    assert found.read_errors[0] == "line 1002 cannot be read: invalid JSON"
    assert found.read_errors[20:] == ("8980 more lines cannot be read",)


SEEN = Observed(happened_at=NOW, attempt=0, backend_state="RUNNING", backend_reason="x")
MARK = b'{"version": 2, "kind": "changed", '
LONG = {
    "records": dump(SEEN),
    "changes": dump(Changed(happened_at=NOW, attempt=0, user="x", values={"time": "1"}, old_values={})),
    "rubbish": b"x\n",
    "blanks": b" \n",
    "nothing": b"\n",
    "one line": b"x",
    "an endless list": b"0,",
    "nested": b"[",
    "half a record": MARK + b"\n",
    "half a record in one line": MARK,
    "a record of megabytes": MARK + b'"a": {' + b'"b": 1, ' * 100_000 + b'"b": 1}}\n',
}


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("begins", [dump(CREATED), b"["], ids=["record", "list"])
def test_a_long_journal_is_not_read_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, begins: bytes
) -> None:
    """What is at its end counts, with the first record and changes from before; so much work is bounded."""
    journal, size = tmp_path / "journal.jsonl", 24 << 20
    journal.write_bytes(begins + LONG[kind] * (size // len(LONG[kind])) + b"\n" + dump(SUBMITTED) + dump(ENDED))
    lines: list[int] = []

    def counted(line: bytes) -> Record:
        lines.append(len(line))
        return parse(line)

    monkeypatch.setattr("paislurm.translator.state.journal.parse", counted)
    found = read(journal)
    assert found.records[-2:] == (SUBMITTED, ENDED)
    assert len(lines) <= MAX_LINES + MAX_EARLIER + 1
    assert sum(lines) <= 2 * MAX_TAIL + MAX_FIRST
    if begins.startswith(dump(CREATED)):
        assert found.records[0] == CREATED
    assert len(found.read_errors) <= 21


def test_lasting_records_of_a_long_journal_are_kept(journal: Path) -> None:
    """As of a job that is restarted for ever: what its user changed, and which events were told."""
    change = Changed(happened_at=NOW, attempt=0, user="x", values={"time": "1"}, old_values={})
    reported = Notified(happened_at=NOW, attempt=0, key="a", delivered=True)
    cancel = Cancelled(happened_at=NOW, attempt=0, user="x")
    first = [CREATED, INTENT, change, reported, *[SEEN] * 5, cancel]
    journal.write_bytes(b"".join(map(dump, [*first, *[SEEN] * 30_000, SUBMITTED])) + b"x\n")
    found = read(journal)
    kept = [record for record in found.records if record != SEEN]
    assert kept == [CREATED, change, reported, cancel, SUBMITTED]
    assert len(found.records) < 20_010
    assert found.read_errors == (f"line {len(first) + 30_002} cannot be read: invalid JSON",)


_HOLDS_LOCK = """
import fcntl, sys
file = open(sys.argv[1], "ab", buffering=0)
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.readline()
file.write(b"{}\\n")
"""


def test_a_record_waits_for_that_of_another_process(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On NFS each would write to the end of the file that it saw last."""
    append(journal, CREATED)
    command = [sys.executable, "-c", _HOLDS_LOCK, str(journal)]
    with child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        assert other.stdin
        assert other.stdout.readline() == "locked\n"
        waits: list[float] = []

        def wait(seconds: float) -> None:
            waits.append(seconds)
            with suppress(BrokenPipeError):
                other.communicate("go on\n")

        monkeypatch.setattr(module.time, "sleep", wait)
        append(journal, INTENT)
    assert waits
    assert journal.read_bytes() == dump(CREATED) + b"{}\n" + dump(INTENT)


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EACCES, errno.ENOLCK, errno.ENOSYS, errno.EIO])
def test_a_record_is_written_without_a_lock_too(journal: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The file system has no locks, or another process keeps its lock for ever."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module.fcntl, "lockf", refuse)
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    append(journal, CREATED)
    assert read(journal).records == (CREATED,)
