"""Results, reports and what nodes say of ports can be written by anybody: whatever they are, nothing breaks."""

from __future__ import annotations

import errno
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.files.reading import open_regular, read_end
from paislurm.translator.files.shared_files import SharedFiles
from paislurm.translator.state import result as result_module
from paislurm.translator.state import task_reports as reports_module
from paislurm.translator.state.parsed import CorruptDataError
from paislurm.translator.state.result import Result, parse_result, read_result
from paislurm.translator.state.task_reports import (
    MAX_PEER_LINE,
    MAX_PORT,
    Peer,
    Report,
    ScriptRun,
    apply_peers,
    apply_reports,
    read_peers,
    read_reports,
    read_scripts,
)

from ..monitor.jobs import result, task

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


of_job = st.builds(lambda key, value: result(**{key: value}), st.sampled_from(sorted(result())), anything)
of_task = st.builds(
    lambda key, value: result(tasks=[task(0) | {key: value}]), st.sampled_from(sorted(task(0))), anything
)


@given(of_job | of_task)
def test_a_result_with_one_wrong_value_is_read_or_refused(found: dict[str, Any]) -> None:
    try:
        assert isinstance(parse_result(json.dumps(found).encode()), Result)
    except CorruptDataError as error:
        assert str(error)


@given(st.binary(max_size=200))
def test_bytes_are_read_or_refused(data: bytes) -> None:
    with pytest.raises(CorruptDataError):
        parse_result(data)


def test_a_missing_or_special_result_file_gives_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "result.json"
    assert read_result(path) is None
    os.mkfifo(path)
    assert read_result(path) is None
    path.unlink()
    path.write_text(json.dumps(result()), encoding="utf-8")
    assert isinstance(read_result(path), Result)
    monkeypatch.setattr(result_module, "MAX_BYTES", 10)
    with pytest.raises(CorruptDataError, match="too large"):
        read_result(path)


def test_a_folder_or_named_pipe_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, tmp_path / "nothing"):
        with pytest.raises(OSError, match=r"not a regular file|No such file"):
            open_regular(path)


START = b"start 0 0 3 0 n1 4 1000"
EXIT = b"exit 0 0 3 0 1 255 unknown 1010"


def taken(*lines: bytes) -> dict[int, Report]:
    latest: dict[int, dict[int, Report]] = {}
    apply_reports(latest, lines)
    assert set(latest) <= {0}
    return latest.get(0, {})


def test_reports_of_a_task_are_read() -> None:
    assert taken(START) == {3: Report(index=3, attempt=0, node="n1", started=1000, step=4)}
    ended = Report(
        index=3, attempt=0, node="n1", started=1000, step=4, status=1, code=255, behaviour="unknown", ended=1010
    )
    assert taken(START, EXIT) == {3: ended}
    assert taken(START, EXIT, START) == {3: ended}, "a report that came twice"
    retry = b"start 0 0 3 1 n2 4 1020"
    assert taken(START, EXIT, retry)[3] == Report(index=3, attempt=1, node="n2", started=1020, step=4)
    assert taken(START, retry, EXIT)[3].ended is None, "the end of an attempt that is over"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"start",
        b"exit 0 0 3 0 1 255 unknown",
        b"exit 0 0 3 0 one 255 unknown 1010",
        b"exit 0 0 4 0 1 255 unknown 1010",
        b"start 0 0 3 0 n1 4 " + b"9" * 5000,
        b"start 0 0 3 0 " + b"n" * 600 + b" 4 1000",
        b"start 0 0 \xff 0 n1 4 1000",
        "start 0 0 ٣ 0 n1 4 1000".encode(),
    ],
)
def test_invalid_reports_are_skipped(line: bytes) -> None:
    assert taken(START, line) == taken(START)


@given(st.lists(st.binary(max_size=60)))
def test_any_bytes_are_read_as_reports_without_error(lines: list[bytes]) -> None:
    taken(*lines)


def test_report_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_reports(tmp_path / "nothing") == {}
    (tmp_path / "n1.log").write_bytes(START + b"\n" + EXIT[:-1])
    assert read_reports(tmp_path)[0][3].ended is None, "a torn last line"
    (tmp_path / "n1.log").write_bytes(START + b"\n" + EXIT + b"\n")
    assert read_reports(tmp_path)[0][3].code == 255
    os.mkfifo(tmp_path / "n2.log")
    (tmp_path / "n3.log").mkdir()
    assert list(read_reports(tmp_path)[0]) == [3]
    monkeypatch.setattr(reports_module, "MAX_BYTES", len(START) + len(EXIT))
    assert read_reports(tmp_path) == {}, "the beginning of the first line is missing"


def test_invalid_records_of_scripts_are_skipped(tmp_path: Path) -> None:
    good = ["0 start 0 10 12 install-git", "1 commands 3 12 13 -"]
    bad = [
        "0 start 0 10 12",
        "0 born 0 10 12 x",
        "0 start x 10 12 x",
        f"0 start {1 << 60} 1 2 x",
        f"0 exit 0 1 2 {'x' * 600}",
    ]
    (tmp_path / "4.scripts").write_text("\n".join([*bad, *good, "0 exit 0 13 14 torn"]))
    (tmp_path / "x.scripts").write_text(good[0] + "\n")
    (tmp_path / "5.scripts").mkdir()
    os.mkfifo(tmp_path / "6.scripts")
    assert read_scripts(tmp_path) == {
        4: (
            ScriptRun(task_attempt=0, phase="start", name="install-git", exit_status=0, started_at=10, ended_at=12),
            ScriptRun(task_attempt=1, phase="commands", name="", exit_status=3, started_at=12, ended_at=13),
        )
    }
    assert read_scripts(tmp_path / "nowhere") == {}


def test_only_the_end_of_a_large_record_of_scripts_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports_module, "MAX_SCRIPT_BYTES", 50)
    lines = [f"{attempt} start 0 10 12 name\n" for attempt in range(9)]
    (tmp_path / "0.scripts").write_text("".join(lines))
    assert [each.task_attempt for each in read_scripts(tmp_path)[0]] == [7, 8]


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_script_records_without_error(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "0.scripts").write_bytes(data)
        assert all(isinstance(each, ScriptRun) for each in read_scripts(Path(folder))[0])


@pytest.mark.parametrize(("number", "kind"), [(errno.ESTALE, FileNotFoundError), (errno.EIO, OSError)])
def test_an_error_of_a_read_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[OSError]
) -> None:
    """On NFS, a file that another host has removed is missing, though it is open."""
    file = tmp_path / "journal.jsonl"
    file.touch()

    class Stale(io.BytesIO):
        def read(self, _: int | None = -1) -> bytes:
            raise OSError(number, os.strerror(number))

    def opened(descriptor: int, _: str) -> Stale:
        os.close(descriptor)
        return Stale()

    monkeypatch.setattr(os, "fdopen", opened)
    with pytest.raises(kind) as caught:
        read_end(file, 100)
    assert caught.value.filename == str(file)


def test_the_last_attempt_of_a_task_is_used(tmp_path: Path) -> None:
    (tmp_path / "n1.log").write_text(
        "peer 0 0 1 10.0.0.1 0 http:5000,5001 ssh:5002\nstart 0 0 0 1 n1 4 9\npeer 0 1 0 10.0.0.1 1 http:1\npeer 0 2 0",
        encoding="utf-8",
    )
    (tmp_path / "n2.log").write_text("peer 0 0 0 10.0.0.2 3 http:9\npeer 1 0 0 fe80::1 0\n", encoding="utf-8")
    assert read_peers(tmp_path) == {
        (0, 0): Peer("10.0.0.1", {"http": (5000, 5001), "ssh": (5002,)}, 0, 1),
        (0, 1): Peer("10.0.0.1", {"http": (1,)}, 1, 0),
        (1, 0): Peer("fe80::1", {}, 0, 0),
    }
    assert read_peers(tmp_path / "none") == {}


def test_addresses_that_ssh_reads_as_options_are_ignored(tmp_path: Path) -> None:
    words = ["-oProxyCommand=x", "10.0.0.1\x1b[31m", "a;b", "$(x)", "fe80::1%ib0", "::1", "node-1.site", "a" * 256]
    lines = [f"peer 0 {index} 0 {word} 0 http:5000" for index, word in enumerate(words)]
    (tmp_path / "n1.log").write_text("\n".join([*lines, ""]), encoding="utf-8")
    found = [peer.address for _, peer in sorted(read_peers(tmp_path).items())]
    assert found == ["", "", "", "", "fe80::1%ib0", "::1", "node-1.site", ""]


@given(st.lists(st.binary(max_size=60)))
def test_invalid_lines_give_no_invalid_ports(lines: list[bytes]) -> None:
    found: dict[tuple[int, int], Peer] = {}
    apply_peers(found, [b"peer 0 0 0 host 0 " + line for line in lines])
    ports = [port for peer in found.values() for numbers in peer.ports.values() for port in numbers]
    assert all(0 < port <= MAX_PORT for port in ports)
    before = dict(found)
    apply_peers(found, [b"start " + b" ".join(lines), b"peer 0 0 9 host 0 " + b"x" * MAX_PEER_LINE])
    assert {key: found[key] for key in before} == before


@pytest.mark.parametrize("call", ["stat", "open", "fstat", "utime"])
def test_a_file_is_missing_that_another_client_has_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """NFS v3 answers ESTALE for it. Source: nfs(5)."""
    files = SharedFiles(tmp_path)
    files.create("lock.1", "me")

    def stale(*_: object, **__: object) -> object:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    # pytest looks at files, too.
    with monkeypatch.context() as patch:
        patch.setattr(os, call, stale)
        if call != "utime":
            with pytest.raises(FileNotFoundError):
                read_end(tmp_path / "lock.1", 100)
        if call != "stat":
            assert (files.touch("lock.1") if call == "utime" else files.stamp("lock.1")) in (None, False)


def test_a_name_that_is_stale_is_neither_linked_nor_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another NFS client has removed it just now."""

    def stale(*_: object, **__: object) -> None:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    files = SharedFiles(tmp_path)
    files.create("own", "")
    monkeypatch.setattr(os, "link", stale)
    assert files.link("own", "other") is False
    monkeypatch.setattr(os, "unlink", stale)
    files.remove("own")
