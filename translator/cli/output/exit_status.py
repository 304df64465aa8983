"""The end of a job, as an exit code and as a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...monitor.job_status import state_text
from ...report.failure_text import cause_text, failure_text
from ...terminal_text import one_line
from .console import log

if TYPE_CHECKING:
    from ...monitor.failure import Failure
    from ...monitor.poll import View

FAILED = 1
LOG_OPTIONS = {"runtime": "--runtime", "batch": "--batch", "stderr": "--stderr", "stdout": ""}
"""The options of `logs` by the log that shows a failure."""


def exit_code(view: View) -> int:
    """Return 0 for a job that succeeded, 1 for any other end."""
    return 0 if view.job_status.state == "SUCCEEDED" else FAILED


def ending_text(view: View) -> str:
    """Return the state of a job, in a sentence."""
    reason = f": {view.job_status.reason}" if view.job_status.reason else ""
    return f"{view.folder.name} {state_text(view.job_status)}{reason}"


def log_ending(view: View, failure: Failure | None) -> None:
    """Log the end of a job; for a failure, also the reason and the commands that show more."""
    log(one_line(ending_text(view)))
    if view.job_status.state == "FAILED":
        if failure is not None:
            first = f"{cause_text(failure)}\n" if failure.first is not None else ""
            log(f"{first}{failure_text(failure)}")
        log(f"see: paislurm status {view.folder.name}; {_logs_command(view.folder.name, failure)}")


def _logs_command(job: str, failure: Failure | None) -> str:
    """Return the command that shows the whole log of the failure."""
    option = LOG_OPTIONS[failure.stream if failure else "stderr"]
    task = failure.task.name if failure and failure.task else ""
    return " ".join(filter(None, ("paislurm logs", option, job, task)))
