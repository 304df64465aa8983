"""Tests that are left out: what this machine cannot run, which is a failure in CI, and what nobody has asked for."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

NO_PUBLISHED_JOBS = "PAISLURM_OPENPAI_JOBS names no folder of published job files"


class NotAsked(pytest.skip.Exception):
    """A skip for which no machine is at fault."""

    # Pytest reports it without the name of this module, as its own.
    __module__ = "builtins"


def not_asked(why: str) -> NoReturn:
    """Skip a case that does not exist for a Slurm, or that needs what is not part of the project, in CI too."""
    raise NotAsked(why)


def reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return why a test was skipped, in one line, and "" if it was not."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return ""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    # These alone are parameters that may be missing.
    if text.startswith("Skipped: got empty parameter set"):
        return NO_PUBLISHED_JOBS
    return re.sub(r"^(Skipped|NotAsked): ", "", text).partition("\n")[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With PAISLURM_REQUIRE_CLUSTER=1, report a test as failed that this machine cannot run."""
    report = yield
    asked = not (call.excinfo and isinstance(call.excinfo.value, NotAsked)) and reason(report) != NO_PUBLISHED_JOBS
    if os.environ.get("PAISLURM_REQUIRE_CLUSTER") == "1" and asked and reason(report):
        report.outcome, report.longrepr = "failed", f"left out: {reason(report)}"
    return report
