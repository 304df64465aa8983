"""A codeDir that is too large is refused before the job runs, where it can be seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.app.input import code_size
from paislurm.translator.app.input.code_size import MAX_CODE_BYTES
from paislurm.translator.rendering.engine import load

from ..running import job_file

if TYPE_CHECKING:
    from pathlib import Path

    from ..running import Runner

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


@pytest.mark.parametrize("words", [("check",), ("submit", "--backend", "local"), ("submit", "--dry-run")])
@pytest.mark.parametrize("form", ["{}", "file://{}", "{}/"])
def test_too_large_code_is_refused(run: Runner, tmp_path: Path, code: Path, words: tuple[str, ...], form: str) -> None:
    size = f"has {MAX_CODE_BYTES + 1} bytes; the limit is {MAX_CODE_BYTES}"
    told = f"error E337: codeDir {form.format(code).removeprefix('file://')} {size}"
    run(*words, job_of_v1(tmp_path, form.format(code))).ends(3, told, "  $.codeDir\n")


def test_the_error_for_a_converted_job_names_its_own_line(run: Runner, tmp_path: Path, code: Path) -> None:
    file = job_file(tmp_path, V2.replace("CODE", str(code)))
    run("check", file).ends(3, "job.yaml:6:32  $.extras.slurm.v1.codeDir\nerror E337")


def test_code_that_fits_or_is_not_visible_passes_the_check(
    run: Runner, tmp_path: Path, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / "data").write_bytes(b"")
    for where in (str(code), "/nowhere/code", "hdfs://host/code", "/", "code", "$PAI_DEFAULT_FS_URI/code"):
        assert run("check", job_of_v1(tmp_path, where)).code == 0, where
    monkeypatch.setattr(code_size, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(code_size, "MAX_CODE_BYTES", 0)
    assert run("check", job_of_v1(tmp_path, str(code))).code == 0


def test_the_script_has_the_same_limit() -> None:
    assert f"readonly PSL_MAX_CODE_BYTES={MAX_CODE_BYTES}\n" in load("runtime/batch/code.sh")
