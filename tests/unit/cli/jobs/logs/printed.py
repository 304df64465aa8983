"""Let tasks print."""

from __future__ import annotations

from paislurm.translator.state.job_folder import JobFolder

from ....monitor.jobs import ROLES

JOB = "alice~demo"


def print_to(
    folder: JobFolder, index: int, text: str, retry: int = 0, stream: str = "stdout", attempt: int = 0
) -> None:
    """Let a task print."""
    path = folder.log(attempt, ROLES[0], index, retry, stream)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(text.encode())
