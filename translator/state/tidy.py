"""Tidy the folder of an ended job: remove files needed only while it ran, keep those that people read.

Any process may tidy at any time and stop anywhere: the next one continues. The claim is removed last, and the script
just before: a job that an administrator requeues finds the claim or misses the script, and runs nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paislurm.backends.registry import is_remote

from ..files.names import ATTEMPTS, BATCH_LOG, CLAIM, MORE_MEMORY, RESULT, SCRIPT
from ..files.open_folder import open_folder
from .kept_script import HEAD, runtimes, shrink
from .parsed import CorruptDataError
from .result import parse_result

if TYPE_CHECKING:
    from pathlib import Path

    from ..files.open_folder import OpenFolder
    from .history import History
    from .job_folder import JobFolder
    from .result import Result

TIDY_AFTER = 3600
"""Seconds after a job's end: by then its script has ended, even if it did not report it."""
ENDED = "ended"
"""The file in the claim that the script writes last."""
MAX_RESULT = 64 << 20
OF_A_LIVING_JOB = ("submit-dir", "umask", "monitor-call")
OF_A_LIVING_ATTEMPT = ("env.sh", "peers.sh", "placement.sh", "result.json.new")
FOLDERS_OF_A_LIVING_ATTEMPT = ("bin", "commands")


def is_tidy(folder: JobFolder) -> bool:
    """Return whether a job is tidy, by two checks of its first attempt, which is tidied last."""
    first = folder.attempt(0)
    return not any(path.exists() for path in (first / SCRIPT, first / CLAIM))


def tidy(folder: JobFolder, known: History, now: int) -> bool:
    """Tidy the folder of a job with a recorded end, as far as possible. Return whether all of it is tidy.

    An attempt whose end neither its script nor the backend reports stays complete: it may still run.
    """
    if known.ended is None or is_remote(known.backend):
        return False
    with suppress(OSError), open_folder(folder.path) as opened:
        over, is_old = _ended_attempts(known), now - known.ended.happened_at >= TIDY_AFTER
        complete = True
        with opened.folder(ATTEMPTS) as attempts:
            for number in reversed(range(known.attempt + 1)):
                # Tidy the first attempt only after all others: `is_tidy` checks it.
                if attempts.status(str(number)) is not None and (number or complete):
                    with attempts.folder(str(number)) as attempt:
                        complete &= _tidy_attempt(attempt, runtimes(folder.path), over=number in over, is_old=is_old)
        if complete:
            for name in OF_A_LIVING_JOB:
                opened.drop(name)
            _remove_files(opened, MORE_MEMORY)
        return complete
    return False


def _ended_attempts(known: History) -> set[int]:
    """Return the attempts whose end the backend has reported."""
    over = {retry.attempt for retry in known.retries if retry.backend_state}
    return over | ({known.ended.attempt} if known.ended and known.ended.backend_state else set())


def _tidy_attempt(attempt: OpenFolder, kept: Path, *, over: bool, is_old: bool) -> bool:
    """Tidy an attempt. Return False if some files must stay for now."""
    result = _complete_result(attempt)
    complete = result is not None
    if not over and not (complete and (is_old or _script_has_ended(attempt))):
        return False
    for name in OF_A_LIVING_ATTEMPT:
        attempt.drop(name)
    for name in FOLDERS_OF_A_LIVING_ATTEMPT:
        _remove_files(attempt, name)
    _remove_files(attempt, "srun", empty=True)
    # Only the reports have the times of a task's earlier attempts.
    if result is not None and not any(task.task_attempt for task in result.tasks):
        _remove_files(attempt, "tasks", suffix=".log")
    _remove_empty_folders(attempt, "tasks", "work")
    _remove_empty_logs(attempt)
    if not shrink(attempt, kept):
        return False
    _remove_files(attempt, CLAIM)
    return True


def _complete_result(attempt: OpenFolder) -> Result | None:
    """Return the result if the script has recorded the end of all tasks."""
    try:
        result = parse_result(attempt.read(RESULT, MAX_RESULT))
    except (OSError, CorruptDataError):
        return None
    return result if result.complete else None


def _script_has_ended(attempt: OpenFolder) -> bool:
    """Return whether the script has finished its work after the result."""
    with suppress(FileNotFoundError, NotADirectoryError), attempt.folder(CLAIM) as claim:
        return claim.status(ENDED) is not None
    # Without a claim, another process has tidied this attempt: the rest is safe.
    return attempt.status(SCRIPT) is None


def _remove_files(parent: OpenFolder, name: str, *, suffix: str = "", empty: bool = False) -> None:
    """Remove files of a folder that end with `suffix`, or only empty ones; then remove the folder if it is empty."""
    if parent.status(name) is None:
        return
    with parent.folder(name) as folder:
        for file in folder.names():
            status = folder.status(file)
            if file.endswith(suffix) and status is not None and not (empty and status.st_size):
                folder.drop(file)
    parent.drop_folder(name)


def _remove_empty_folders(parent: OpenFolder, *names: str) -> None:
    for name in names:
        with suppress(FileNotFoundError, NotADirectoryError), parent.folder(name) as folder:
            for role in folder.names():
                with suppress(NotADirectoryError), folder.folder(role) as of_role:
                    for index in of_role.names():
                        of_role.drop_folder(index)
                folder.drop_folder(role)
        parent.drop_folder(name)


def _remove_empty_logs(attempt: OpenFolder) -> None:
    """Remove empty logs, except of standard output: each task keeps one log."""
    with suppress(FileNotFoundError), attempt.folder("logs") as logs:
        for role in logs.names():
            with suppress(NotADirectoryError), logs.folder(role) as of_role:
                for name in of_role.names():
                    status = of_role.status(name)
                    if ".stdout." not in name and status is not None and not status.st_size:
                        of_role.drop(name)
    slurm = attempt.status(BATCH_LOG)
    if slurm is not None and not slurm.st_size:
        attempt.drop(BATCH_LOG)


def is_tidied(attempt: Path) -> bool:
    """Return whether an attempt has been tidied: then a missing log was empty."""
    return (attempt / HEAD).exists()
