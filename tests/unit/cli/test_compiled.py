"""Compiled templates are kept between runs, and nothing depends on that."""

from __future__ import annotations

import os
import resource
import stat
from typing import TYPE_CHECKING, Any

import jinja2
import pytest

from paislurm.translator.cli import compiled
from paislurm.translator.cli.compiled import CompiledTemplates
from paislurm.translator.pipeline import compile_job

from ..protocol.jobs import job

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = compile_job(job()).script


@pytest.fixture(autouse=True)
def writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python write what it compiles, whatever the tests are run with."""
    monkeypatch.setattr(compiled, "may_write", lambda: True)


def compiles(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Compile a job as a new process would, and return how many templates that compiled."""
    texts: list[str] = []
    compile_template = jinja2.Environment.compile

    def count(environment: jinja2.Environment, source: str, *args: Any, **options: Any) -> Any:
        texts.append(source)
        return compile_template(environment, source, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(jinja2.Environment, "compile", count)
        assert compile_job(job(), templates=CompiledTemplates(folder)).script == SCRIPT
    return len(texts)


def test_templates_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiles(tmp_path, monkeypatch)
    assert first > 0
    assert len(list(tmp_path.iterdir())) == first
    assert compiles(tmp_path, monkeypatch) == 0


def test_a_damaged_file_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the damage: each file is cut at another length, the last ones are no files of Jinja's at all."""
    count = compiles(tmp_path, monkeypatch)
    sound = {file: file.read_bytes() for file in sorted(tmp_path.iterdir())}
    for share in (0.0, 0.01, 0.02, 0.05, 0.5, 0.999):
        for file, content in sound.items():
            file.write_bytes(content[: int(len(content) * share)])
        assert compiles(tmp_path, monkeypatch) == count
        assert {file: file.read_bytes() for file in tmp_path.iterdir()} == sound
    for file in sound:
        file.write_bytes(b"\x80\x04\x95nothing of Jinja's")
    assert compiles(tmp_path, monkeypatch) == count


def test_another_text_is_another_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiles(tmp_path, monkeypatch)
    one, other = sorted(tmp_path.iterdir())[:2]
    other.write_bytes(one.read_bytes())
    assert compiles(tmp_path, monkeypatch) == 1


def test_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (tmp_path / "none", tmp_path / "file" / "folder"):
        (tmp_path / "file").touch()
        assert compiles(folder, monkeypatch) == compiles(folder, monkeypatch) > 0
    monkeypatch.setattr(compiled, "may_write", lambda: False)
    assert compiles(tmp_path, monkeypatch) > 0
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file can be larger than 100 bytes: each write ends in its middle."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        compiles(tmp_path, monkeypatch)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_kept_or_taken_where_others_can_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is code. A file that others could write to is made anew; a folder in which they could is not used at all."""
    mask = os.umask(0)
    try:
        count = compiles(tmp_path, monkeypatch)
    finally:
        os.umask(mask)
    files = list(tmp_path.iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o644}
    for mode in (0o666, 0o664, 0o646):
        files[0].chmod(mode)
        assert compiles(tmp_path, monkeypatch) == 1
        assert compiles(tmp_path, monkeypatch) == 0
    for mode in (0o777, 0o1777, 0o770):
        tmp_path.chmod(mode)
        assert compiles(tmp_path, monkeypatch) == count
    tmp_path.chmod(0o755)
    assert compiles(tmp_path, monkeypatch) == 0
    for file in files:
        file.unlink()
    tmp_path.chmod(0o777)
    compiles(tmp_path, monkeypatch)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")
def test_nothing_of_another_user_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiles(tmp_path, monkeypatch)
    for file in tmp_path.iterdir():
        os.chown(file, 21002, -1)
        assert compiles(tmp_path, monkeypatch) == 1
        assert file.stat().st_uid == 0
