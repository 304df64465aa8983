"""Diagnostics on standard error: a blank line between two, and warnings and hints once for each call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paislurm.translator.app.session import Session
from paislurm.translator.cli.output.console import forget_reported, log, log_diagnostics
from paislurm.translator.errors import Diagnostic

if TYPE_CHECKING:
    from paislurm.translator.app.session import Event


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
