"""The exit codes that the program decides about, each with one name. `table.yaml` says what they mean."""

from __future__ import annotations

from signal import Signals

NO_CAUSE = -101
"""An end from outside without a known cause. Source: OpenPAI exit specification, PodExternalDeleted."""
NEVER_TAKEN = -120
"""An attempt that never reached Slurm, or that Slurm has lost before it began."""
REFUSED = -200
"""An attempt that Slurm refused. Source: OpenPAI exit specification, PodCreationPermanentError."""
STOPPED, TASK_STOPPED = -210, -220
"""Stopped by its user, and a task that was stopped because the job ended. Source: OpenPAI exit specification."""
NODE_LOST, DEADLINE, NOT_BEGUN, OUT_OF_MEMORY = -1001, -1004, -1006, -1200
"""A lost node, the time limit, nodes that could not start the job, too much memory. Source: the same."""
NOT_STARTED, PROLOG_FAILED, JOB_FORGOTTEN, FOLDER_NOT_SHARED = -1402, -1403, -1404, -1405
FOLDER_FULL, STALLED, PREFLIGHT_FAILED = -1406, -1407, -1408
"""Codes of this program."""
UNEXPLAINED = 255
"""All failures without a rule; the exit status is more specific. Source: OpenPAI exit specification."""
UNLISTED, UNLISTED_NEGATIVE = 256, -8000
"""The rows for codes without a row."""


def status_of_signal(word: str) -> int:
    """Return the exit status after a signal, `KILL`, `SIGKILL` or `9`; 0 for no standard signal. Source: bash(1)."""
    name = f"SIG{word.upper().removeprefix('SIG')}"
    number = int(word) if word.isdecimal() else Signals.__members__.get(name, 0)
    return 128 + number if 0 < number < 32 else 0
