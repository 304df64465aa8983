"""What a look of `logs -f` at 5,000 tasks of two files each costs, when all are quiet, and when some print.

It is compared with one stat of each of their files. The clock of the looks is moved on: a minute passes in no time.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from unittest.mock import patch

from paislurm.translator.app.jobs.logs.following import JobLogs
from paislurm.translator.app.jobs.logs.selection import ALL_LOGS
from paislurm.translator.app.session import Session
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Created, Intent, JobRole, dump

from .measure import Ratio, times_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paislurm.translator.app.jobs.logs.selection import Stream
    from paislurm.translator.app.jobs.logs.task_log import Piece

TASKS = 5000
LOOKS = 120
"""A minute."""
PRINTING = 50
"""So many tasks print between two looks."""
ROLE = JobRole(name="worker", folder="0-worker", instances=TASKS)
CLOCK = "paislurm.translator.app.jobs.logs.following.time.monotonic"


class _Counted:
    """Take what would be printed."""

    def __init__(self) -> None:
        self.count = 0

    def write(self, label: str, piece: Piece) -> None:  # noqa: ARG002 - as in Printer
        self.count += piece.data.count(b"\n")

    def rest(self, label: str, stream: Stream) -> None:
        """Have nothing to show."""

    def flush(self) -> None:
        """Have nothing to hand on."""


def run() -> Iterator[Ratio]:
    """Yield the ratios."""
    with TemporaryDirectory() as name:
        folder = _job(Path(name))
        logs = folder.logs(0, ROLE)
        paths = [str(path) for path in logs.iterdir()]
        # A folder that is just being filled is listed each time.
        os.utime(logs, (1, 1))
        printed = _Counted()
        followed = JobLogs(Session(), folder, folder.history(), ALL_LOGS, printed, follows=True)
        followed.print_new()
        assert printed.count == 2 * TASKS
        stat_of_each = times_of(lambda: [os.stat(path) for path in paths], clock=time.process_time)[0]  # noqa: PTH116 - what is compared
        quiet = _seconds_a_look(followed, [], time.monotonic())
        yield Ratio(f"a look at {TASKS} quiet tasks : a stat of each file", quiet, stat_of_each, 0.4)
        busy = _seconds_a_look(followed, paths[:PRINTING], time.monotonic() + LOOKS / 2)
        yield Ratio(f"the same while {PRINTING} of them print : a stat of each file", busy, stat_of_each, 0.45)
        followed.print_last()
        assert printed.count == 2 * TASKS + LOOKS * PRINTING


def _job(path: Path) -> JobFolder:
    folder = JobFolder(path=path / "alice~many")
    folder.logs(0, ROLE).mkdir(parents=True)
    created = Created(happened_at=1, job="many", user="alice", backend="slurm", roles=(ROLE,))
    folder.journal.write_bytes(b"".join(dump(each) for each in (created, Intent(happened_at=1, attempt=0, tag="t"))))
    for index in range(TASKS):
        for stream in ("stdout", "stderr"):
            folder.log(0, ROLE, index, 0, stream).write_bytes(b"begun\n")
    return folder


def _seconds_a_look(followed: JobLogs, printing: list[str], now: float) -> float:
    """Return the CPU seconds of a look on average, over the minute that begins `now` by the clock of the looks."""
    taken = 0.0
    for number in range(LOOKS):
        for path in printing:
            with open(path, "ab") as file:  # noqa: PTH123 - thousands of times
                file.write(b"more\n")
        with patch(CLOCK, return_value=now + number / 2):
            began = time.process_time()
            followed.print_new()
            taken += time.process_time() - began
    return taken / LOOKS
