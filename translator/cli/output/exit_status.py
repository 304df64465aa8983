"""How a job ended, as exit code and in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...monitor.job_status import state_text
from ...report.failure_text import failure_text
from ...terminal_text import one_line
from .console import log
from .task_table import task_name

if TYPE_CHECKING:
    from ...monitor.failure import Failure
    from ...monitor.poll import View

FAILED = 1
LOG_OPTIONS = {"runtime": "--runtime", "batch": "--batch", "stderr": "--stderr", "stdout": ""}
"""The options of `logs` for the logs that a failure is told from."""


def exit_code(view: View) -> int:
    """Return 0 for a job that succeeded, 1 for any other end."""
    return 0 if view.job_status.state == "SUCCEEDED" else FAILED


def ending_text(view: View) -> str:
    """Return how a job stands, in a sentence."""
    reason = f": {view.job_status.reason}" if view.job_status.reason else ""
    return f"{view.folder.name} {state_text(view.job_status)}{reason}"


def log_ending(view: View, failure: Failure | None) -> None:
    """Tell how a job ended, why it failed, and where to look if it did not go well."""
    log(one_line(ending_text(view)))
    if view.job_status.state == "FAILED":
        if failure is not None:
            log(failure_text(failure))
        log(f"see: paislurm status {view.folder.name}; {_logs_command(view.folder.name, failure)}")


def _logs_command(job: str, failure: Failure | None) -> str:
    """Return the command that shows the log of which the last lines were shown, whole."""
    option = LOG_OPTIONS[failure.stream if failure else "stderr"]
    task = task_name(failure.task) if failure and failure.task else ""
    return " ".join(filter(None, ("paislurm logs", option, job, task)))
