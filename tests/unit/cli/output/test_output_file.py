"""Files that cannot be written: the error names the file that was named, and not what it is made of."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.app import output_file
from paislurm.translator.app.output_file import write_output
from paislurm.translator.errors import FolderError

if TYPE_CHECKING:
    from pathlib import Path

    from ..running import Runner


def refusal(path: Path) -> tuple[str, str]:
    with pytest.raises(FolderError) as error:
        write_output(path, b"text")
    (found,) = error.value.diagnostics
    assert found.code == "E500"
    return found.message, found.hint


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "page.html"
    message, hint = refusal(path)
    assert message == f"cannot write {path}: No such file or directory"
    assert hint == f"folder `{path.parent}` does not exist: name another file with `-o`"
    (tmp_path / "nowhere").touch()
    assert refusal(path)[1].startswith(f"`{path.parent}` is not a folder")


@pytest.mark.parametrize(
    ("number", "hint"),
    [(errno.EACCES, "you cannot write to"), (errno.EROFS, "you cannot write to"), (errno.ENOSPC, "free disk space")],
)
def test_the_file_name_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, hint: str) -> None:
    def refuse(path: Path, _: bytes, mode: int) -> None:  # noqa: ARG001 - as the real one
        raise OSError(number, "refused", str(path.with_name(".page.html.new-1234")))

    monkeypatch.setattr(output_file, "write_durably", refuse)
    message, said = refusal(tmp_path / "page.html")
    assert message == f"cannot write {tmp_path / 'page.html'}: refused"
    assert said.startswith(hint)


def test_commands_that_write_files_report_write_errors(run: Runner, job: str, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "job.sbatch"
    run("script", job, "-o", str(path)).ends(4, f"error E500: cannot write {path}: No such file or directory")
