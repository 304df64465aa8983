"""What goes and what stays of a job that has ended, whatever interrupts the tidying."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.translator.monitor.poll import open_job
from paislurm.translator.state import kept_script
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Record, Retry
from paislurm.translator.state.kept_script import read_script, split
from paislurm.translator.state.result import read_result
from paislurm.translator.state.tidy import is_tidy, tidy

from ...monitor.jobs import ENDED, NOW, SUBMITTED, leave_result, task
from .left import BODY, GOES, LATER, SCRIPT, SEAL, STAYS, files, left, tidied

TIDY = STAYS | {"attempts/0/job.head": SCRIPT.removesuffix(BODY)}
"""The files of a job that is tidy."""
REPORTS = {"attempts/0/tasks/n1.log": GOES["attempts/0/tasks/n1.log"]}


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    """Forget which runtimes were read."""
    kept_script._body.cache_clear()
    yield
    kept_script._body.cache_clear()


def test_tidying_keeps_readable_files_and_removes_the_rest(tmp_path: Path) -> None:
    folder = left(tmp_path)
    before = (folder.journal.read_bytes(), folder.result(0).read_bytes())
    assert not is_tidy(folder)
    assert (tidied(folder), files(folder)) == (True, TIDY)
    assert (folder.journal.read_bytes(), folder.result(0).read_bytes()) == before
    assert is_tidy(folder)
    assert not [path for path in folder.path.rglob("*") if path.is_dir() and not any(path.iterdir())]
    assert read_script(folder, 0) == SCRIPT
    assert (tidied(folder), files(folder)) == (True, TIDY)


def test_a_shared_runtime_is_stored_once(tmp_path: Path) -> None:
    first = left(tmp_path / "a")
    assert tidied(first)
    (kept,) = (tmp_path / "a" / "runtime").iterdir()
    assert kept.stat().st_size < len(BODY) / 10
    before = kept.stat()
    first.script(0).write_bytes(SCRIPT)
    assert tidied(first)
    assert [path.stat() for path in (tmp_path / "a" / "runtime").iterdir()] == [before]


ENDED_ITSELF = (replace(ENDED, backend_state=""),)


@pytest.mark.parametrize(
    ("records", "result", "now"),
    [
        pytest.param(ENDED_ITSELF, {}, LATER - 1, id="a moment ago"),
        pytest.param((SUBMITTED,), {}, LATER, id="not ended"),
        pytest.param(ENDED_ITSELF, None, LATER, id="given up"),
        pytest.param(ENDED_ITSELF, {"tasks": [task(0), task(1, ended_at=None)]}, LATER, id="a task runs"),
    ],
)
def test_attempts_that_may_still_run_are_not_tidied(
    tmp_path: Path, records: tuple[Record, ...], result: dict[str, Any] | None, now: int
) -> None:
    folder = left(tmp_path, *records, result=False)
    if result is not None:
        leave_result(folder, **result)
    before = files(folder)
    assert (tidied(folder, now), files(folder)) == (False, before)


def test_a_script_that_reported_its_end_is_tidied_at_once(tmp_path: Path) -> None:
    folder = left(tmp_path, replace(ENDED, backend_state=""))
    folder.claim(0).with_name("ended").touch()
    assert (tidied(folder, ENDED.happened_at), files(folder)) == (True, TIDY)


@pytest.mark.parametrize(("backend_state", "retried"), [("TIMEOUT", False), ("", True)])
def test_reports_stay_that_tell_what_no_result_does(tmp_path: Path, backend_state: str, retried: bool) -> None:
    """Without a result they are all that tells of the tasks; of a retried task only they have the earlier attempts."""
    folder = left(tmp_path, replace(ENDED, backend_state=backend_state), result=False)
    if retried:
        leave_result(folder, tasks=[task(0), {**task(1), "task_attempt": 1}])
    assert (tidied(folder), files(folder)) == (True, TIDY | REPORTS)


def test_a_job_on_a_login_node_is_not_tidied(tmp_path: Path) -> None:
    folder = left(tmp_path)
    job = open_job(folder)
    before = files(folder)
    assert (tidy(job.folder, replace(job.history, backend="ssh:login"), LATER), files(folder)) == (False, before)


RETRY = Retry(
    happened_at=NOW, attempt=0, exit_code=1, behaviour="unknown", reason="a", retry_rule="b", retry_at=NOW,
    retries=1, used_retries=1, transient_retries=0, blamed_nodes=(), backend_state="FAILED", started_at=NOW,
    ended_at=NOW,
)  # fmt: skip


def with_second(home: Path, backend_state: str, *, result: bool) -> JobFolder:
    """Make the folder of a job whose second attempt has ended."""
    second = [replace(record, attempt=1) for record in (SUBMITTED, replace(ENDED, backend_state=backend_state))]
    folder = left(home, RETRY, *second, result=result)
    folder.attempt(1).mkdir()
    folder.script(1).write_bytes(SCRIPT)
    return folder


def test_attempts_before_the_last_are_tidied(tmp_path: Path) -> None:
    folder = with_second(tmp_path, "FAILED", result=False)
    assert (tidied(folder), is_tidy(folder)) == (True, True)
    assert [read_script(folder, attempt) for attempt in (0, 1)] == [SCRIPT, SCRIPT]
    assert [folder.script(attempt).exists() for attempt in (0, 1)] == [False, False]


def test_a_job_is_not_tidy_before_its_last_attempt_is(tmp_path: Path) -> None:
    """Of the last attempt nothing tells yet that it has ended: the job is looked at again."""
    folder = with_second(tmp_path, "", result=True)
    folder.result(1).write_bytes(folder.result(0).read_bytes())
    assert (tidied(folder, ENDED.happened_at), is_tidy(folder)) == (False, False)
    assert (tidied(folder), is_tidy(folder), folder.script(1).exists()) == (True, True, False)


def test_an_edited_script_is_kept(tmp_path: Path) -> None:
    changed = SCRIPT + b"echo mine\n"
    folder = left(tmp_path, script=changed)
    assert not tidied(folder)
    assert read_script(folder, 0) == changed == folder.script(0).read_bytes()
    assert folder.claim(0).exists()


def test_a_job_text_that_resembles_the_seal_is_kept(tmp_path: Path) -> None:
    script = b"#!/bin/bash\n" + SEAL + b"x\n" + SEAL + BODY
    folder = left(tmp_path, script=script)
    assert (tidied(folder), read_script(folder, 0)) == (True, script)


@given(head=st.binary(max_size=200), body=st.binary(max_size=200).filter(lambda body: b"# ---- " not in body))
def test_any_script_is_split_at_its_seal(head: bytes, body: bytes) -> None:
    found = split(head + b"\n" + SEAL + body)
    assert found is not None
    assert found[0] + found[1] == head + b"\n" + SEAL + body
    assert found[1] == body


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    folder, outside = left(tmp_path), tmp_path / "outside"
    (outside / "0").mkdir(parents=True)
    (outside / "env.sh").write_bytes(b"mine")
    (outside / "0.stderr.log").write_bytes(b"")
    for name in ("bin/ssh", "srun/0-worker.log", "env.sh"):
        path = folder.attempt(0) / name
        path.unlink()
        path.symlink_to(outside / "env.sh")
    (folder.attempt(0) / "logs" / "1-more").symlink_to(outside)
    (folder.attempt(0) / "work" / "1-more").symlink_to(outside)
    tidied(folder)
    assert (outside / "env.sh").read_bytes() == b"mine"
    assert sorted(path.name for path in outside.iterdir()) == ["0", "0.stderr.log", "env.sh"]


class Killed(BaseException):
    """Stands for kill -9."""


def test_an_interrupted_tidying_continues_from_any_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script can be read after each step, and nothing that people read is ever gone."""
    steps = 0
    while True:
        steps += 1
        folder = left(tmp_path / str(steps))
        with monkeypatch.context() as patched:
            counter = iter(range(steps))
            for name in ("unlink", "rmdir", "rename", "fsync", "replace"):
                patched.setattr(os, name, _killed_after(getattr(os, name), counter))
            interrupted = True
            with suppress(Killed):
                interrupted = not tidied(folder)
        kept_script._body.cache_clear()
        assert read_script(folder, 0) == SCRIPT
        assert STAYS.items() <= files(folder).items()
        assert read_result(folder.result(0)) is not None
        assert read(folder.journal).read_errors == ()
        # No job that is put back runs anything: it finds the claim, or no script.
        assert folder.claim(0).exists() or not folder.script(0).exists()
        assert (tidied(folder), files(folder)) == (True, TIDY)
        if not interrupted:
            break
    assert steps > len(GOES)


def _killed_after(call: Callable[..., object], counter: Iterator[int]) -> Callable[..., object]:
    def called(*arguments: object, **options: object) -> object:
        if next(counter, None) is None:
            raise Killed
        return call(*arguments, **options)

    return called


def test_concurrent_processes_give_the_same_result(tmp_path: Path) -> None:
    for number in range(10):
        folder = left(tmp_path / str(number))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(tidied, [folder] * 4))
        assert (tidied(folder), files(folder)) == (True, TIDY)
        assert read_script(folder, 0) == SCRIPT


def test_a_full_disk_leaves_the_script_and_the_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = left(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(kept_script, "write_durably", full)
        assert not tidied(folder)
    assert (folder.script(0).read_bytes(), folder.claim(0).exists()) == (SCRIPT, True)
    assert (tidied(folder), read_script(folder, 0)) == (True, SCRIPT)


def test_a_damaged_runtime_is_replaced(tmp_path: Path) -> None:
    assert tidied(left(tmp_path))
    (kept,) = (tmp_path / "runtime").iterdir()
    kept.write_bytes(b"nonsense")
    (tmp_path / "jobs").rename(tmp_path / "jobs.old")
    folder = left(tmp_path)
    assert (tidied(folder), read_script(folder, 0)) == (True, SCRIPT)


@pytest.mark.parametrize("damage", [b"nonsense", b"", None])
def test_a_lost_runtime_is_reported(tmp_path: Path, damage: bytes | None) -> None:
    folder = left(tmp_path)
    assert tidied(folder)
    (kept,) = (tmp_path / "runtime").iterdir()
    if damage is None:
        kept.unlink()
    else:
        kept.write_bytes(damage)
    kept_script._body.cache_clear()
    with pytest.raises(kept_script.FolderError, match="E590"):
        read_script(folder, 0)


def test_a_missing_script_raises_file_not_found(tmp_path: Path) -> None:
    folder = left(tmp_path)
    folder.script(0).unlink()
    with pytest.raises(FileNotFoundError):
        read_script(folder, 0)


def test_a_named_pipe_does_not_block(tmp_path: Path) -> None:
    folder = left(tmp_path)
    folder.script(0).unlink()
    os.mkfifo(folder.script(0))
    assert not tidied(folder)
