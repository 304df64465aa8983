"""Fetch logs from a login node, read their last lines, and find the result of a job in them."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.registry import is_remote

from ..errors import BackendError
from ..files.reading import open_regular
from ..files.shared_files import time_written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from paislurm.backends.base import RunFolder

    from ..state.history import History
    from ..state.job_folder import JobFolder
    from ..state.journal_records import JobRole
    from ..state.run_record import RunRecord
    from .session import Session


SHORTEST, LONGEST, GROWTH = 1.0, 10.0, 1.4
"""Seconds between two fetches; the pause grows while no new data arrives."""


def run_folder_with_logs(
    folder: JobFolder, known: History, tasks: Sequence[tuple[JobRole, int]], attempt: int | None = None
) -> RunFolder:
    """Return the run folder of a job with the logs of `tasks`; for a whole role, with its folder of logs."""
    run_folder = known.run_folder(folder.path)
    counts = Counter(role for role, _ in tasks)
    whole = {role for role, count in counts.items() if count == role.instances}
    return replace(
        run_folder,
        attempt=run_folder.attempt if attempt is None else attempt,
        names=(*run_folder.names, *(f"logs/{role.folder}" for role in whole)),
        tasks=tuple((f"logs/{role.folder}", index) for role, index in tasks if role not in whole),
    )


def fetch(session: Session, known: History, run_folder: RunFolder) -> None:
    """Fetch new data from the login node. Raises BackendError if it does not answer."""
    if is_remote(known.backend):
        session.backend(known.backend).fetch([run_folder])


class Fetcher:
    """Fetch new data of a job when called, at most once per pause; report an outage once."""

    def __init__(self, session: Session, folder: JobFolder, tasks: Sequence[tuple[JobRole, int]] = ()) -> None:
        self._session, self._folder = session, folder
        self._tasks = tasks
        self._pause, self._next = SHORTEST, 0.0
        self._outage = ""

    def __call__(self, *, now: bool = False) -> None:
        """Fetch new data: at once with `now`, else after the pause."""
        if not now and time.monotonic() < self._next:
            return
        known = self._folder.history()
        if not is_remote(known.backend):
            self._next = float("inf")
            return
        with suppress(OSError):
            self._fetch(known)
        self._next = time.monotonic() + self._pause

    def _fetch(self, known: History) -> None:
        try:
            has_more = self._session.backend(known.backend).fetch(
                [run_folder_with_logs(self._folder, known, self._tasks)]
            )
        except BackendError as error:
            if not self._outage:
                self._outage = error.diagnostics[0].message
                self._session.say(f"still waiting: {self._outage}")
            self._pause = LONGEST
            return
        if self._outage:
            self._outage = ""
            self._session.say(f"{known.backend_label} answers again")
        self._pause = SHORTEST if has_more else min(LONGEST, self._pause * GROWTH)


CHUNK = 1 << 16
MAX_END = 1 << 16
MAX_LINE = 2000
"""The most bytes of the end of a log, and characters of a line, in a summary."""
MAX_TAIL_BYTES = 64 << 20
"""The most bytes to search back for the start of the last lines."""


def written(descriptor: int, offset: int) -> Iterator[tuple[bytes, int]]:
    """Yield the content of a file from an offset in pieces, each with its end offset; skip holes."""
    while piece := os.pread(descriptor, CHUNK, offset):
        end = offset + len(piece)
        if piece.count(0) == len(piece) and (data := _next_data(descriptor, offset)) > offset:
            piece, end = b"", data
        offset = end
        yield piece, offset


def _next_data(descriptor: int, offset: int) -> int:
    """Return the offset of the data after a hole; `offset` without a hole. Source: lseek(2), SEEK_DATA."""
    size = os.fstat(descriptor).st_size
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError as error:
        return size if error.errno == errno.ENXIO else offset


def open_log(path: Path, owner: int) -> int:
    """Open a job's log that `owner` owns. Raises OSError for another owner, or if it is not a file.

    Otherwise a link could make readers publish files that only they can read.
    """
    descriptor = open_regular(path)
    if os.fstat(descriptor).st_uid != owner:
        os.close(descriptor)
        raise FileNotFoundError(None, "not owned by the owner of the job", str(path))
    return descriptor


def start_of_last_lines(path: Path, count: int, owner: int) -> int:
    """Return the offset of the last `count` lines of a file, at most MAX_TAIL_BYTES back; 0 if unreadable."""
    try:
        descriptor = open_log(path, owner)
    except OSError:
        return 0
    with os.fdopen(descriptor, "rb") as file:
        end = size = file.seek(0, os.SEEK_END)
        wanted = count
        furthest = max(0, size - MAX_TAIL_BYTES)
        while end > furthest and wanted > 0:
            start = max(0, end - CHUNK)
            file.seek(start)
            piece = file.read(end - start)
            searched = len(piece)
            if end == size and piece.endswith(b"\n"):
                searched -= 1
            while (found := piece.rfind(b"\n", 0, searched)) >= 0:
                wanted -= 1
                if wanted <= 0:
                    return start + found + 1
                searched = found
            end = start
        return end if count else size


def last_lines(path: Path, count: int, owner: int) -> tuple[str, ...]:
    """Return the last `count` non-empty lines of a log; () if it is unreadable.

    Keep the last state of a progress bar, and the last MAX_LINE characters of a line. Drop the NULs of holes.
    """
    data, _ = log_end(path, MAX_END, owner)
    lines = (line.rstrip() for line in final_lines(data.replace(b"\0", b"")))
    return tuple(line[-MAX_LINE:] for line in lines if line)[-count:]


def log_end(path: Path, limit: int, owner: int) -> tuple[bytes, bool]:
    """Return at most `limit` bytes of the end of a log, b"" if it is unreadable, and whether these are all."""
    try:
        descriptor = open_log(path, owner)
    except OSError:
        return b"", True
    with os.fdopen(descriptor, "rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - limit)
        file.seek(start)
        return file.read(limit), start == 0


def final_lines(data: bytes, errors: str = "replace") -> list[str]:
    """Return lines as a terminal shows them at the end: only the last state of a progress bar."""
    text = data.decode(errors=errors).removesuffix("\n")
    return [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")] if text else []


SECONDS = 2.0
"""How long the expressions may take: one such as `(a+)+$` would search for ever."""
_SEARCH = """
import json, math, re, sys
for row in sys.stdin:
    number = None
    text, lines = json.loads(row)
    try:
        pattern = re.compile(text)
    except re.error:
        lines = []
    for line in lines:
        match = pattern.search(line)
        try:
            found = float(match[1 if pattern.groups else 0]) if match else math.nan
        except (TypeError, ValueError):
            continue
        if math.isfinite(found):
            number = found
            break
    print(json.dumps(number), flush=True)
"""
Question = tuple[str, tuple[str, ...]]
"""A regular expression, and the lines to search, the last first."""


def result_of(folder: JobFolder, attempt: int, roles: Sequence[JobRole], run: RunRecord | None) -> float | None:
    """Return the last match that is a number, in the first role whose first task printed one."""
    return numbers([question(folder, attempt, roles, run)])[0]


def question(folder: JobFolder, attempt: int, roles: Sequence[JobRole], run: RunRecord | None) -> Question | None:
    """Return what to search for the result of an attempt, None if the job file names no result."""
    if run is None or not run.result_pattern:
        return None
    owner = folder.path.stat().st_uid
    logs = (sorted(folder.logs(attempt, role).glob("0.std*.log"), key=time_written, reverse=True) for role in roles)
    return run.result_pattern, tuple(
        line for of_role in logs for log in of_role for line in reversed(last_lines(log, MAX_END, owner))
    )


def numbers(questions: Sequence[Question | None]) -> list[float | None]:
    """Search all in one child process, whose time is limited; None for no number, or an expression that takes long."""
    asked = [position for position, each in enumerate(questions) if each and each[1]]
    found: list[float | None] = [None] * len(questions)
    while asked:
        from paislurm.backends.bounded_run import run_bounded

        rows = "".join(f"{json.dumps(questions[position])}\n" for position in asked)
        try:
            done = run_bounded([sys.executable, "-I", "-S", "-c", _SEARCH], rows.encode(), timeout=SECONDS)
        except OSError:
            # The user may have no process left (ulimit -u): the jobs are shown all the same.
            break
        answers = done.stdout.splitlines()
        for position, answer in zip(asked, answers, strict=False):
            found[position] = json.loads(answer)
        # The first without an answer took too long.
        asked = asked[len(answers) + 1 :]
    return found
