"""What the local backend makes of a script: how it is started, its time limit, its warning signal."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any

from paislurm.translator.errors import Diagnostic, RejectedError

from ..batch_script import components, seconds
from ..slurm_emulator.records import VERSION

if TYPE_CHECKING:
    from ..base import Submission

WARNING_SECONDS = 60
"""How long before the time limit a signal comes that names no time. Source: sbatch(1), --signal."""


def job_record(submission: Submission, script: str) -> dict[str, Any]:
    """Return `job.json`; RejectedError when a directive makes no sense."""
    try:
        first = components(script)[0].options
        limit = seconds(first.get("time", "UNLIMITED"))
        warning = _warning(first.get("signal", ""))
    except (ValueError, KeyError) as diagnostic:
        raise RejectedError(Diagnostic(code="E504", message=f"a #SBATCH line cannot be read: {diagnostic}")) from None
    script_file, folder = submission.script.absolute(), submission.folder.absolute()
    return {
        "version": VERSION,
        "argv": ["bash", "-p", str(script_file), str(folder), str(submission.attempt), submission.tag],
        "name": first.get("job-name", submission.script.name),
        "directory": str(folder),
        "log": str(submission.log.absolute()),
        "limit": limit,
        "warning": warning,
        "tag": submission.tag,
        "submitted": int(time.time()),
    }


def _warning(text: str) -> tuple[int, int, bool] | None:
    """Read `--signal=[B:]NAME[@SECONDS]`: signal number, seconds, whether the script alone gets it."""
    if not text:
        return None
    flags, _, rest = text.rpartition(":")
    name, _, before = rest.partition("@")
    number = int(name) if name.isdigit() else signal.Signals[f"SIG{name.upper().removeprefix('SIG')}"].value
    return number, int(before or WARNING_SECONDS), "B" in flags
