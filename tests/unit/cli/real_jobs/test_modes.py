"""Whatever the user's umask lets others read of other files: what paislurm writes is the user's alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from ..running import JOB, job_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..running import Runner

SECRET = "hunter2-hunter2"


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask", "profile")
def test_all_that_is_written_is_the_users_alone(run: Runner, tmp_path: Path) -> None:
    text = JOB.replace("echo and bye", "echo <% $secrets.token %> | wc -c")
    said = run("submit", job_file(tmp_path, f"{text}secrets: {{token: {SECRET}}}\n"), "--backend", "local", "--wait")
    assert said.code == 0, said.err
    home = tmp_path / "home"
    paths = [home, *home.rglob("*"), *(tmp_path / "cache").rglob("*")]
    modes = {path: path.lstat().st_mode & 0o777 for path in paths if not path.is_symlink()}
    programs = {path.name for path, mode in modes.items() if path.is_file() and mode != 0o600}
    assert {modes[path] for path in modes if path.is_dir()} == {0o700}
    assert {modes[path] for path in modes if path.name in programs} <= {0o700}
    assert programs == {"ssh", "scp", "sftp", "paislurm-peer"} | {"srun", "scontrol", "scancel"}
    (log,) = home.glob("jobs/*/attempts/0/logs/*/0.stdout.log")
    assert log.read_text().splitlines()[-1] == str(len(SECRET) + 1)
    assert [path for path in modes if path.is_file() and SECRET.encode() in path.read_bytes()] == []
