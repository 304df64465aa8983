"""Output files, and blocks of output."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from paislurm.translator.app import paths as output_file
from paislurm.translator.app.paths import write_output
from paislurm.translator.app.session import Event, Session
from paislurm.translator.cli.output.console import forget_reported, log, log_diagnostics
from paislurm.translator.errors import Diagnostic, FolderError

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


WARNING = Diagnostic(code="W402", message="no image")
ERROR = Diagnostic(code="E350", message="no bash")


@pytest.fixture(autouse=True)
def afresh() -> None:
    forget_reported()


def test_consecutive_diagnostics_are_separated_by_a_blank_line(capfd: pytest.CaptureFixture[str]) -> None:
    log_diagnostics([WARNING])
    log_diagnostics([ERROR])
    apart = capfd.readouterr().err
    forget_reported()
    log_diagnostics([WARNING, ERROR])
    assert capfd.readouterr().err == apart == "warning W402: no image\n\nerror E350: no bash\n"


def test_no_blank_line_before_the_first_diagnostic_or_after_a_message(capfd: pytest.CaptureFixture[str]) -> None:
    log_diagnostics([ERROR])
    log("hello")
    log_diagnostics([ERROR])
    log_diagnostics([])
    assert capfd.readouterr().err == "error E350: no bash\nhello\nerror E350: no bash\n"


def test_warnings_are_printed_once_per_call(capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        log_diagnostics([WARNING])
    assert capfd.readouterr().err == "warning W402: no image\n"


def test_a_session_reports_a_hint_once_and_warnings_each_time() -> None:
    reported: list[Event] = []
    session = Session(say=reported.append)
    for _ in range(2):
        session.say_once("hint: rest")
        session.warn([WARNING])
    assert reported == ["hint: rest", WARNING, WARNING]
