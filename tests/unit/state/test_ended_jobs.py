"""What is kept of ended jobs is believed as long as their journals are as they were, and nothing depends on it."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.translator.state import ended_jobs
from paislurm.translator.state.ended_jobs import FILE
from paislurm.translator.state.history import History
from paislurm.translator.state.job_folder import Living, Store
from paislurm.translator.state.journal_records import Created, Ended, JobRole, Submitted, dump

COUNT = 3
CREATED = Created(
    happened_at=5, job="j", user="u", backend="slurm", roles=(JobRole(name="w", folder="0-w", instances=2),),
    virtual_cluster="vc", partition="gpu,cpu",
)  # fmt: skip
SUBMITTED = Submitted(happened_at=6, attempt=0, job_id="7", job="j", user="u", backend="slurm", task_count=2)
ENDED = Ended(
    happened_at=9, attempt=0, state="FAILED", exit_code=1, reason="it failed", backend_state="FAILED",
    started_at=7, ended_at=8, completed=2, node_list="n[1-2]",
)  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a home with some jobs that have ended, of which the file is worth writing."""
    monkeypatch.setattr(ended_jobs, "WORTH_WRITING", COUNT)
    for number in range(COUNT):
        job, folder = f"j{number}", tmp_path / "jobs" / f"u~j{number}"
        folder.mkdir(parents=True)
        submitted = replace(SUBMITTED, job=job, job_id=str(100 + number))
        records = (replace(CREATED, job=job), submitted, ENDED)
        (folder / "journal.jsonl").write_bytes(b"".join(map(dump, records)))
    return tmp_path


def entries(home: Path) -> dict[str, History | Living]:
    """Return what a new process knows of each job; it reads the journals of which it knows no end."""
    found = {}
    for name, job in Store(home).entries():
        found[name] = job
        if isinstance(job, Living):
            job.read()
    return found


def living(home: Path) -> set[str]:
    """Return the jobs whose journals a new process reads."""
    return {name for name, job in entries(home).items() if isinstance(job, Living)}


ALL = {f"u~j{number}" for number in range(COUNT)}


def test_finished_jobs_are_cached(home: Path) -> None:
    assert living(home) == ALL
    kept = entries(home)
    assert kept["u~j1"] == History(
        job="j1", user="u", backend="slurm", job_id="101", attempt=0, tasks=2, created=5, submitted=6, ended=ENDED,
        virtual_cluster="vc", partition="gpu,cpu",
    )  # fmt: skip
    assert {name for name, job in kept.items() if isinstance(job, History)} == kept.keys() == ALL
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (home / "monitor", home / "monitor" / FILE)]
    assert modes == [0o700, 0o600]
    found = Store(home).by_id("101")
    assert found is not None
    assert found.name == "u~j1"


def test_a_journal_that_has_changed_is_read_again(home: Path) -> None:
    entries(home)
    journal = home / "jobs" / "u~j1" / "journal.jsonl"
    with journal.open("ab") as file:
        file.write(dump(ENDED))
    other = home / "jobs" / "u~j2" / "journal.jsonl"
    text, times = other.read_bytes(), other.stat()
    other.unlink()
    other.write_bytes(text.replace(b"it failed", b"IT FAILED"))
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    (home / "jobs" / "u~j0").rename(home / "jobs" / "u~j0.1")
    assert living(home) == {"u~j0.1", "u~j1", "u~j2"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 9}', '{"version": 1, "jobs": 3}'])
def test_a_damaged_cache_file_is_ignored(home: Path, text: str) -> None:
    entries(home)
    file = home / "monitor" / FILE
    sound = file.read_bytes()
    file.write_text(text)
    assert living(home) == ALL
    assert json.loads(file.read_bytes()) == json.loads(sound)


def test_a_cache_file_with_an_invalid_row_is_ignored(home: Path) -> None:
    entries(home)
    file = home / "monitor" / FILE
    document = json.loads(file.read_bytes())
    document["jobs"]["u~j0"][1]["job"] = 5
    file.write_text(json.dumps(document))
    assert living(home) == ALL


def test_without_a_cache_folder_all_journals_are_read(home: Path) -> None:
    (home / "monitor").touch()
    assert [living(home), living(home)] == [ALL, ALL]
