"""Records of local jobs are in a folder in which anything can be: they are believed as far as they can be."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paislurm.backends.base import JobId, Submission
from paislurm.backends.local.backend import LocalBackend
from paislurm.backends.slurm_emulator import records
from paislurm.translator.errors import NotFoundError

from ...state.test_safe_read import anything

JOB = {"tag": "mine", "submitted": 10}
STATE = {
    "host": "elsewhere", "boot": "b", "supervisor": 1, "supervisor_started": 1, "batch": 1, "started": 11,
    "state": "RUNNING", "reason": "",
}  # fmt: skip
END = STATE | {"state": "COMPLETED", "status": 0, "signal": 0, "ended": 12}


def write(home: Path, name: str, **files: object) -> Path:
    folder = home / "local" / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, value in files.items():
        (folder / f"{file}.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    path.unlink()
    path.touch()
    os.truncate(path, 1 << 40)


@pytest.mark.parametrize("file", ["job.json", "state.json"])
@pytest.mark.parametrize(
    "spoil",
    [
        pipe,
        endless,
        huge,
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_text("[]"),
        lambda path: path.write_bytes(b"\xff"),
        lambda path: path.write_text('{"state": {}}'),
    ],
)
def test_an_invalid_record_makes_only_its_own_job_unknown(
    tmp_path: Path, file: str, spoil: Callable[[Path], object]
) -> None:
    backend = LocalBackend(tmp_path)
    spoil(write(tmp_path, "1", job=JOB, state=END) / file)
    write(tmp_path, "2", job=JOB | {"tag": "other"}, state=END)
    found = backend.observe([JobId("1"), JobId("2")])
    assert found[JobId("2")].state == "COMPLETED"
    assert JobId("1") not in found or found[JobId("1")].submitted is None
    assert backend.find(["other"]) == {"other": "2"}
    if file == "state.json":
        with pytest.raises(NotFoundError):
            backend.cancel(JobId("1"))


@given(st.sampled_from(["job", "state", "end"]), st.sampled_from(sorted({*JOB, *END})), anything)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_record_with_one_wrong_value_is_observed_without_error(
    tmp_path: Path, which: str, key: str, value: Any
) -> None:
    values = {"job": JOB, "state": END if which == "end" else STATE}
    target = "job" if which == "job" else "state"
    write(tmp_path, "1", **values | {target: values[target] | {key: value}})
    backend = LocalBackend(tmp_path)
    for seen in backend.observe([JobId("1")]).values():
        assert isinstance(seen.state, str)
        assert all(
            isinstance(each, (int, type(None))) for each in (seen.status, seen.submitted, seen.started, seen.ended)
        )
    assert backend.find(["nobody's"]) == {}


def test_folders_without_numeric_names_are_not_jobs(tmp_path: Path) -> None:
    for name in ("²", "٣", "9" * 200):
        (tmp_path / name).mkdir()
    assert records.take_number(tmp_path, 1) == 1


def test_a_named_pipe_as_script_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "job.sbatch")
    submission = Submission(
        script=tmp_path / "job.sbatch", folder=tmp_path, job="job", attempt=0, tag="x", log=tmp_path / "log"
    )  # fmt: skip
    with pytest.raises(OSError, match="not a regular file"):
        LocalBackend(tmp_path).submit(submission)
