"""Compiled templates are kept between runs in the user's own cache folder, and nothing depends on that."""

from __future__ import annotations

import os
import resource
import stat
from pathlib import Path
from typing import Any

import jinja2
import pytest

from paislurm.translator.app.input.job_input import template_folder
from paislurm.translator.app.session import Session
from paislurm.translator.pipeline import compile_job
from paislurm.translator.rendering import engine
from paislurm.translator.rendering.engine import template_cache

from ...cli.running import job_file
from ...protocol.jobs import job
from ..asked import Asked

SCRIPT = compile_job(job()).script


@pytest.fixture
def above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the user's caches in a folder that is not there yet."""
    folder = tmp_path / "caches"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


def compiles(folder: Path | None, monkeypatch: pytest.MonkeyPatch) -> int:
    """Compile a job as a new process would, and return how many templates that compiled."""
    texts: list[str] = []
    compile_template = jinja2.Environment.compile

    def count(environment: jinja2.Environment, source: str, *args: Any, **options: Any) -> Any:
        texts.append(source)
        return compile_template(environment, source, *args, **options)

    template_cache.cache_clear()
    engine.engine.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(jinja2.Environment, "compile", count)
        assert compile_job(job(), templates=folder).script == SCRIPT
    return len(texts)


def test_templates_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiles(tmp_path, monkeypatch)
    assert first == len(list(tmp_path.iterdir())) > 0
    assert compiles(tmp_path, monkeypatch) == 0


def test_compiled_templates_are_cached_between_commands(asked: Asked, tmp_path: Path, above: Path) -> None:
    assert asked.compiler.script(job_file(tmp_path)).code == 0
    found = {(path.suffix, stat.S_IMODE(path.stat().st_mode)) for path in (above, *above.rglob("*"))}
    assert found == {("", 0o700), (".jinja2", 0o600)}


def test_a_damaged_cache_file_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_changed_template_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiles(tmp_path, monkeypatch)
    one, other = sorted(tmp_path.iterdir())[:2]
    other.write_bytes(one.read_bytes())
    assert compiles(tmp_path, monkeypatch) == 1


def test_without_a_cache_folder_templates_are_still_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for folder in (None, tmp_path / "none", tmp_path / "file" / "folder"):
        assert compiles(folder, monkeypatch) == compiles(folder, monkeypatch) > 0
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_leaves_no_partial_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file can be larger than 100 bytes: each write ends in its middle."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        compiles(tmp_path, monkeypatch)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mask", [0, 0o077])
def test_the_cache_folder_is_private(above: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        assert template_folder(Session()) == above / "paislurm"
    finally:
        os.umask(before)
    assert stat.S_IMODE((above / "paislurm").stat().st_mode) == 0o700


def spoil(place: Path, mode: int) -> None:
    """Let the group or others write to a folder, or give it to another user."""
    if mode:
        place.chmod(mode)
    else:
        os.chown(place, 21002, -1)


BY_ROOT = pytest.param(0, id="of another user", marks=pytest.mark.root("to be two users"))


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, BY_ROOT])
def test_a_cache_folder_of_others_is_not_used(above: Path, mode: int) -> None:
    """It is code. Neither the folder nor the one above, in which another could take its place."""
    folder = template_folder(Session())
    assert folder is not None
    for place in (folder, above):
        spoil(place, mode)
        assert template_folder(Session()) is None
        place.chmod(0o755)
        os.chown(place, os.getuid(), -1)
        assert template_folder(Session()) == folder
    above.parent.chmod(0o777)
    assert template_folder(Session()) is None
    above.parent.chmod(0o700)
    folder.rmdir()
    spoil(above, mode & 0o777)
    assert template_folder(Session()) is None
    assert list(above.iterdir()) == []


def test_templates_work_if_no_folder_can_be_created(above: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    above.touch()
    assert template_folder(Session()) is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(above.parent / "not" / "there"))
    assert template_folder(Session()) is None
    assert list(above.parent.iterdir()) == [above]
