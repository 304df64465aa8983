"""What a job file needs beside its own text: a readable file, options, and a codeDir of a size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from paislurm.translator.app.input import local_checks as code_size
from paislurm.translator.app.input.local_checks import MAX_CODE_BYTES
from paislurm.translator.app.paths import hint_at_files
from paislurm.translator.rendering.engine import load

from ...cli.running import JOB, job_file
from ..asked import Asked

V2 = """protocolVersion: 2
name: code
type: job
prerequisites: [{name: i, type: dockerimage, uri: debian}]
taskRoles: {w: {dockerImage: i, resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}, commands: ['true']}}
extras: {slurm: {v1: {codeDir: "CODE"}}}
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A folder one byte over the limit, as `du` counts it, behind a link."""
    folder = tmp_path / "large"
    folder.mkdir()
    with (folder / "data").open("wb") as data:
        data.truncate(MAX_CODE_BYTES + 1 - folder.stat().st_size)
    link = tmp_path / "code"
    link.symlink_to(folder)
    return link


def job_of_v1(tmp_path: Path, code: str) -> str:
    role = {"name": "w", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100, "gpuNumber": 0, "command": "true"}
    text = json.dumps({"jobName": "old", "image": "debian", "taskRoles": [role], "codeDir": code})
    return job_file(tmp_path, text, "job.json")


@pytest.mark.parametrize(
    ("call", "options"),
    [("compiler.check_job", {}), ("jobs.submit", {"backend": "local"}), ("jobs.submit", {"dry_run": True})],
)
@pytest.mark.parametrize("form", ["{}", "file://{}", "{}/"])
def test_too_large_code_is_refused(
    asked: Asked, tmp_path: Path, code: Path, call: str, options: dict[str, Any], form: str
) -> None:
    size = f"has {MAX_CODE_BYTES + 1} bytes; the limit is {MAX_CODE_BYTES}"
    told = f"error E337: codeDir {form.format(code).removeprefix('file://')} {size}"
    asked.call(call, job_of_v1(tmp_path, form.format(code)), **options).ends(3, told, "  $.codeDir\n")


def test_the_error_for_a_converted_job_names_its_own_line(asked: Asked, tmp_path: Path, code: Path) -> None:
    file = job_file(tmp_path, V2.replace("CODE", str(code)))
    asked.compiler.check_job(file).ends(3, "job.yaml:6:32  $.extras.slurm.v1.codeDir\nerror E337")


def test_code_that_fits_or_is_not_visible_passes_the_check(
    asked: Asked, tmp_path: Path, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / "data").write_bytes(b"")
    for where in (str(code), "/nowhere/code", "hdfs://host/code", "/", "code", "$PAI_DEFAULT_FS_URI/code"):
        assert asked.compiler.check_job(job_of_v1(tmp_path, where)).code == 0, where
    monkeypatch.setattr(code_size, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(code_size, "MAX_CODE_BYTES", 0)
    assert asked.compiler.check_job(job_of_v1(tmp_path, str(code))).code == 0


def test_the_script_has_the_same_limit() -> None:
    assert f"readonly PSL_MAX_CODE_BYTES={MAX_CODE_BYTES}\n" in load("runtime/batch/code.sh")


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of job files, the current one."""
    for name in ("job.yaml", "job.txt", "train-resnet.yaml", ".hidden.yaml", "notes"):
        (tmp_path / name).touch()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "sweep.json").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hint(name: str) -> str:
    with pytest.raises(OSError, match=name or "Is a directory") as error:
        open(name).close()  # noqa: PTH123 - a name as it is typed
    return hint_at_files(name, error.value)


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("job.yml", "did you mean `job.yaml`?"),
        ("Job.yaml", "did you mean `job.yaml`?"),
        ("train-resnt.json", "did you mean `train-resnet.yaml`?"),
        ("more/swep.json", "did you mean `more/sweep.json`?"),
        ("nowhere/job.yaml", "folder `nowhere` does not exist"),
        ("notes/job.yaml", "folder `notes` does not exist"),
        ("more", "it is a folder: use a file in it, such as `more/sweep.json`"),
    ],
)
def test_the_hint_names_the_similar_file(name: str, said: str) -> None:
    assert hint(name) == said


@pytest.mark.parametrize("name", ["abcd.yaml", "hidden.yaml"])
def test_a_name_without_a_similar_file_gets_no_suggestion(there: Path, name: str) -> None:
    assert hint(name) == f"no file in `{there}` has a similar name"


def test_an_empty_name_has_a_hint(asked: Asked) -> None:
    asked.compiler.check_job("").ends(3, "the name is empty")


@pytest.mark.usefixtures("limited")
def test_errors_in_the_file_name_the_file(asked: Asked, tmp_path: Path) -> None:
    file = job_file(tmp_path, f"{JOB}extras: {{slurm: {{partition: bach}}}}\n")
    said = ("error E402: the site has no partition 'bach'", "extras: {slurm: {partition: bach}}")
    asked.compiler.check_job(file, slurm={"time": "30"}).ends(4, *said)
