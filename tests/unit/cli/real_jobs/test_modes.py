"""Whatever the user's umask lets others read of other files: what paislurm writes is the user's alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from paislurm.translator.state import tidy

from ..running import JOB, Runner, job_file

SECRET = "hunter2-hunter2"


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask", "profile")
def test_all_written_files_are_private(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the attempt is tidied, and after."""
    text = JOB.replace("echo and bye", "echo <% $secrets.token %> | wc -c")
    file = job_file(tmp_path, f"{text}secrets: {{token: {SECRET}}}\n")
    with monkeypatch.context() as untidy:
        untidy.setattr(tidy, "_tidy_attempt", lambda *_, **__: False)
        said = run("submit", file, "--backend", "local", "--wait")
    assert said.code == 0, said.err
    of_the_backend = {"srun", "scontrol", "scancel"}
    assert private_programs(tmp_path) == {"ssh", "scp", "sftp", "paislurm-peer"} | of_the_backend
    (log,) = (tmp_path / "home").glob("jobs/*/attempts/0/logs/*/0.stdout.log")
    assert log.read_text().splitlines()[-1] == str(len(SECRET) + 1)
    assert run("status", "demo").code == 0
    assert private_programs(tmp_path) == of_the_backend


def private_programs(folder: Path) -> set[str]:
    """Return the names of the programs in the home; nobody else has a right to anything, and no file has the secret."""
    home = folder / "home"
    paths = [home, *home.rglob("*"), *(folder / "cache").rglob("*")]
    modes = {path: path.lstat().st_mode & 0o777 for path in paths if not path.is_symlink()}
    programs = {path.name for path, mode in modes.items() if path.is_file() and mode != 0o600}
    assert {modes[path] for path in modes if path.is_dir()} == {0o700}
    assert {modes[path] for path in modes if path.name in programs} <= {0o700}
    assert [path for path in modes if path.is_file() and SECRET.encode() in path.read_bytes()] == []
    return programs
