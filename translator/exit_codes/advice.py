"""Advice on exit codes and exit statuses: meaning, where to look, remedy. The table is `advice.yaml`."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ..shipped import shipped_table
from .codes import UNEXPLAINED
from .table import corrected_rules, exit_codes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .table import Behaviour, ExitCode

BATCH, UNLISTED = "batch", "unlisted"
NO_FILE = 229
"""The code of an unreadable file. Source: OpenPAI exit specification, ContainerIncorrectDataModelError."""
GENERAL, NOT_EXECUTABLE, NOT_FOUND, NO_IMPORT = 1, 126, 127, 232
"""The exit statuses of a general error, of a file that cannot be executed and of a missing command, and the code of a
missing module."""
_SIGNALLED = range(129, 160)
"""Exit statuses by signals, 128 + the signal. OpenPAI's codes in this range have the same meaning."""
_NO_MODULE = ("ModuleNotFoundError:", "ImportError:")
"""The last output of Python for a missing module (status 1), and OpenPAI's code for it."""
RETRY_RULES: dict[Behaviour, str] = {
    "transient": "retried without using up `jobRetryCount`, up to `retry.maxTransientRetries` of the site profile",
    "conflict": "retried like transient failures, after a random delay of 1 to 15 minutes",
    "permanent": "never retried",
    "unknown": "retried up to `jobRetryCount` times",
}
_SIGNALS = {1: "HUP (1)", 5: "TRAP (5)", 12: "USR2 (12)", 10: "USR1 (10)", 24: "XCPU (24)", 25: "XFSZ (25)"}


class Advice(Struct, frozen=True, kw_only=True):
    """The usual meaning of a failure, `short` and as a sentence, where to `look`, and a possible `remedy`."""

    short: str
    meaning: str
    look: str
    remedy: str

    @property
    def text(self) -> str:
        """Where to look and what to try, as one text."""
        return f"look at {self.look}; try: {self.remedy}"

    def of_job(self, job_id: str) -> Advice:
        """Return the advice with the id of a job in its commands."""
        return replace(self, look=self.look.replace("JOBID", job_id.partition(";")[0] or "JOBID"))

    def with_memory(self, requested_mib: int) -> Advice:
        """Return the advice after a lack of memory with what was requested, and half as much again to request."""
        more = f"raise `memoryMB`, now {requested_mib}, to {requested_mib * 3 // 2} or more"
        return replace(self, remedy=self.remedy.replace("raise `memoryMB`", more)) if requested_mib else self

    def of_silence(self) -> Advice:
        """Return the advice for a command that printed no reason."""
        said = _advice(_missing("words"))
        return replace(self, look=said.look, remedy=said.remedy)


def retry_rule(row: ExitCode) -> str:
    """Return how a job with this exit code is retried. Source: OpenPAI retry policy."""
    return "the job succeeded" if row.code == 0 else RETRY_RULES[row.behaviour]


def advice(
    code: int, exit_status: int | None = None, *, kind: str = "", last_lines: Sequence[str] = (), workdir: str = ""
) -> Advice:
    """Return the advice for an exit code, or for the exit status of its task if the code is unspecific.

    An exit status is never looked up as a code. Corrected expressions of the exit specification name a cause here.
    `kind` is the `type` of a code that only the site's profile lists, BATCH for a failure of the batch script, or
    UNLISTED for an unlisted code.
    `last_lines` are those of a command, or with BATCH of the batch log. `workdir` is the working directory of the
    command, as in the job file.
    """
    status, may_miss = _status(code, exit_status), _may_miss(code, exit_status)
    if misses_room(last_lines) and (may_miss or kind == BATCH):
        return _advice(_missing("room"))
    if kind == BATCH:
        return _advice(_by_type(code, kind))
    if may_miss and status != NOT_EXECUTABLE and (row := _by_lines(last_lines)):
        return _advice(row)
    if status == GENERAL and _lacks_module(last_lines):
        return _advice(_by_code()[NO_IMPORT])
    missing = missing_file(last_lines) if may_miss else None
    if missing is not None:
        return _missing_file_advice(missing, workdir)
    if status in _SIGNALLED:
        code = status
    elif status:
        code = _named_code(last_lines) or code
    row = _by_code().get(code) if code != UNEXPLAINED or not status else None
    row = row or (_by_status(status) if status else _by_type(code, kind))
    return _advice(row, _SIGNALS.get(status - 128, str(status - 128)))


def chose_its_status(code: int, exit_status: int | None) -> bool:
    """Whether only the documentation of the failed program explains its exit status."""
    status = _status(code, exit_status)
    return bool(status) and status not in (124, NOT_EXECUTABLE, NOT_FOUND, *_SIGNALLED)


def lacks_something(code: int, exit_status: int | None, last_lines: Sequence[str]) -> bool:
    """Whether a command failed because a program, a module, a library or a file is missing."""
    is_not_found = _status(code, exit_status) == NOT_FOUND or code in (220, NO_IMPORT)
    may_miss = _may_miss(code, exit_status)
    return is_not_found or _lacks_module(last_lines) or (may_miss and misses_something(last_lines))


def _status(code: int, exit_status: int | None) -> int:
    """Return the exit status that explains a failure better than its code, 0 for none."""
    return exit_status if code == UNEXPLAINED and exit_status and exit_status != UNEXPLAINED else 0


def _may_miss(code: int, exit_status: int | None) -> bool:
    """Whether last lines about a missing file, or a full disk, can explain a failure."""
    status = _status(code, exit_status)
    return status not in _SIGNALLED if status else code in (220, NO_FILE, 230) or exit_status == UNEXPLAINED


def _named_code(last_lines: Sequence[str]) -> int | None:
    """Return the code whose corrected expression matches one of the last lines."""
    rules = corrected_rules() if last_lines else ()
    found = (rule.code for rule in rules if any(re.search(rule.pattern, line, re.IGNORECASE) for line in last_lines))
    return next(found, None)


def _lacks_module(last_lines: Sequence[str]) -> bool:
    return bool(last_lines) and last_lines[-1].startswith(_NO_MODULE)


def _missing_file_advice(path: str, workdir: str) -> Advice:
    """Return the advice for a missing file; for a relative path, with the working directory."""
    if not workdir or not is_looked_for_at_start(path):
        return _advice(_by_code()[NO_FILE])
    if workdir == "task":
        return _advice(_missing("task"))
    below = workdir.removeprefix("./")
    where = workdir if workdir.startswith("/") else "the submit folder"
    where = f"{where}/{below}" if below != workdir else where
    said = _advice(_missing("elsewhere"))
    return replace(said, meaning=said.meaning.replace("{workdir}", where))


def _advice(row: Mapping[str, Any], signal: str = "") -> Advice:
    short = row["meaning"].replace("{signal}", signal)
    return Advice(short=short, meaning=short + row.get("more", ""), look=row["look"], remedy=row["remedy"])


@cache
def _rows() -> tuple[dict[str, Any], ...]:
    return tuple(shipped_table("translator/exit_codes/advice.yaml"))


def _missing(what: str) -> dict[str, Any]:
    return next(row for row in _rows() if row.get("missing") == what)


def _by_lines(last_lines: Sequence[str]) -> dict[str, Any] | None:
    """Return the row whose expression one of the last lines matches."""
    rows = (row for row in _rows() if "lines" in row)
    return next((row for row in rows if any(re.search(row["lines"], line) for line in last_lines[-LINES:])), None)


@cache
def _by_code() -> Mapping[int, dict[str, Any]]:
    return {int(code): row for row in _rows() for code in row.get("codes", ())}


def _by_status(status: int) -> dict[str, Any]:
    """Return the row of an exit status from 1 to 254."""
    found = next((row for row in _rows() if status in row.get("statuses", ())), None)
    ranges = ((row, row["range"]) for row in _rows() if "range" in row)
    return found or next(row for row, (first, last) in ranges if first <= status <= last)


def _by_type(code: int, kind: str) -> dict[str, Any]:
    listed = exit_codes().get(code)
    kinds = {row["type"]: row for row in _rows() if "type" in row}
    return kinds.get(kind or (listed.type if listed else ""), kinds["unknown"])


LINES = 4
"""How many of the last lines are examined: compilers and make print more after the cause."""
_NAMED = (
    re.compile(r"No such file or directory: b?['\"]([^'\"]+)"),
    re.compile(r"([^\s:'\"`\u2018\u2019]+)['\"`\u2019]?: (?:\[Errno 2\] )?No such file"),
    re.compile(r"No rule to make target ['\"`\u2018]?([^'\"`\u2019]+)"),
    re.compile(r"(no makefile) found"),
)
"""Messages of Python, of the C library and the shells, and of make."""
_OF_A_PROGRAM = re.compile(r"shared object file|bad interpreter|^(?:/usr/bin/)?env: |execv")
"""Messages about a program, which is searched in PATH, or its libraries."""
_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|Errno (?:28|122)\b|\b(?:ENOSPC|EDQUOT)\b")
_IN_TASK_FOLDER = re.compile(r"/attempts/\d+/work/")
"""The path of working directories of tasks. Source: this project's docs, run folder."""


def missing_file(lines: Sequence[str]) -> str | None:
    """Return the missing file that the last such message in the lines names, None without any."""
    for line in reversed(lines[-LINES:]):
        if _OF_A_PROGRAM.search(line):
            return None
        found = next(filter(None, (form.search(line) for form in _NAMED)), None)
        if found is not None:
            return found[1]
    return None


def misses_room(lines: Sequence[str]) -> bool:
    """Whether a line reports a full file system, or an exceeded quota."""
    return any(map(_NO_ROOM.search, lines))


def misses_something(lines: Sequence[str]) -> bool:
    """Whether the last lines report a missing file, program or library."""
    return missing_file(lines) is not None or any("No such file or directory" in line for line in lines[-LINES:])


def is_looked_for_at_start(path: str) -> bool:
    """Whether a path is relative to the working directory of the commands of a task."""
    return not path.startswith("/") or _IN_TASK_FOLDER.search(path) is not None
