"""What an exit code or an exit status usually means, what to look at, and what to try: the table is `advice.yaml`."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ..shipped import shipped_table
from .table import exit_codes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .table import Behaviour, ExitCode

BATCH, UNLISTED = "batch", "unlisted"
NO_FILE = 229
"""The code of a file that could not be read. Source: OpenPAI exit specification, ContainerIncorrectDataModelError."""
GENERAL, NO_IMPORT = 1, 232
NOT_FOUND = (127, 220, NO_IMPORT)
"""The statuses and codes of a command or a module that was not found."""
_NO_MODULE = ("ModuleNotFoundError:", "ImportError:")
"""What Python, which ends with status 1, prints last, and the code that OpenPAI has for it."""
UNEXPLAINED = 255
"""The code of all failures that no rule knows: the exit status tells more. Source: OpenPAI exit specification."""
RETRY_RULES: dict[Behaviour, str] = {
    "transient": "retried without using up `jobRetryCount`, up to `retry.maxTransientRetries` of the site profile",
    "conflict": "retried as transient ones are, after a random delay of 1 to 15 minutes",
    "permanent": "never retried",
    "unknown": "retried as often as `jobRetryCount` says",
}
_SIGNALS = {1: "HUP (1)", 5: "TRAP (5)", 12: "USR2 (12)", 10: "USR1 (10)", 24: "XCPU (24)", 25: "XFSZ (25)"}


class Advice(Struct, frozen=True, kw_only=True):
    """Say in words what a failure usually means, what to `look` at, and what its `remedy` may be."""

    meaning: str
    look: str
    remedy: str

    @property
    def text(self) -> str:
        """What to look at and what to try, as one text."""
        return f"look at {self.look}; try: {self.remedy}"

    def of_job(self, job_id: str) -> Advice:
        """Return the advice with the id of a job in the commands that it names."""
        return replace(self, look=self.look.replace("JOBID", job_id.partition(";")[0] or "JOBID"))


def retry_rule(row: ExitCode) -> str:
    """Return what a job that ends so comes to. Source: OpenPAI retry policy."""
    return "the job succeeded" if row.code == 0 else RETRY_RULES[row.behaviour]


def advice(
    code: int, exit_status: int | None = None, *, kind: str = "", last_lines: Sequence[str] = (), workdir: str = ""
) -> Advice:
    """Return what to say of an exit code, by the exit status of its task where the code tells nothing.

    `kind` is the `type` of a code that only the site's profile lists, BATCH for a failure that no task has had, or
    UNLISTED for a code that nobody lists.
    `last_lines` are those of a command, or with BATCH of the batch log. `workdir` is where the command starts, in the
    words of the job file.
    """
    number = _number(code, exit_status)
    if misses_room(last_lines) and (number in STATUSES or kind == BATCH):
        return _advice(_missing("room"))
    if kind == BATCH:
        return _advice(_by_type(code, kind))
    if number == GENERAL and _lacks_module(last_lines):
        return _advice(_by_code()[NO_IMPORT])
    missing = missing_file(last_lines) if number in STATUSES else None
    if missing is not None:
        return _of_missing_file(missing, workdir)
    row = _by_code().get(number) or _in_range(number) or _by_type(number, kind)
    name = _SIGNALS.get(number - 128, str(number - 128))
    return _advice(row, name)


def lacks_something(code: int, exit_status: int | None, last_lines: Sequence[str]) -> bool:
    """Tell whether a command failed because a program, a module, a library or a file was not found."""
    number = _number(code, exit_status)
    return number in NOT_FOUND or _lacks_module(last_lines) or (number in STATUSES and misses_something(last_lines))


def _number(code: int, exit_status: int | None) -> int:
    return exit_status if code == UNEXPLAINED and exit_status else code


def _lacks_module(last_lines: Sequence[str]) -> bool:
    return bool(last_lines) and last_lines[-1].startswith(_NO_MODULE)


def _of_missing_file(path: str, workdir: str) -> Advice:
    """Return what to say where a file is not there: of one that is looked for where commands start, where that is."""
    if not workdir or not is_looked_for_at_start(path):
        return _advice(_by_code()[NO_FILE])
    if workdir == "task":
        return _advice(_missing("task"))
    below = workdir.removeprefix("./")
    where = workdir if workdir.startswith("/") else "the folder of the submit"
    where = f"{where}/{below}" if below != workdir else where
    said = _advice(_missing("elsewhere"))
    return replace(said, meaning=said.meaning.replace("{workdir}", where))


def _advice(row: Mapping[str, Any], signal: str = "") -> Advice:
    return Advice(meaning=row["meaning"].replace("{signal}", signal), look=row["look"], remedy=row["remedy"])


@cache
def _rows() -> tuple[dict[str, Any], ...]:
    return tuple(shipped_table("translator/exit_codes/advice.yaml"))


def _missing(what: str) -> dict[str, Any]:
    return next(row for row in _rows() if row.get("missing") == what)


@cache
def _by_code() -> Mapping[int, dict[str, Any]]:
    return {int(code): row for row in _rows() for code in row.get("codes", ())}


def _in_range(number: int) -> dict[str, Any] | None:
    ranges = ((row, row["range"]) for row in _rows() if "range" in row)
    return next((row for row, (first, last) in ranges if int(first) <= number <= int(last)), None)


def _by_type(code: int, kind: str) -> dict[str, Any]:
    listed = exit_codes().get(code)
    kinds = {row["type"]: row for row in _rows() if "type" in row}
    return kinds.get(kind or (listed.type if listed else ""), kinds["unknown"])


LINES = 4
"""So many lines of the end are looked at: a compiler or make says some more after it."""
STATUSES = frozenset((*range(1, 128), 220, 229, 230))
"""Exit statuses and codes with which commands end that miss a file. Source: exit specification, and this project's."""
_NAMED = (
    re.compile(r"No such file or directory: b?['\"]([^'\"]+)"),
    re.compile(r"([^\s:'\"`\u2018\u2019]+)['\"`\u2019]?: (?:\[Errno 2\] )?No such file"),
    re.compile(r"No rule to make target ['\"`\u2018]?([^'\"`\u2019]+)"),
    re.compile(r"(no makefile) found"),
)
"""How Python, the C library and the shells, and make say it."""
_OF_A_PROGRAM = re.compile(r"shared object file|bad interpreter|^(?:/usr/bin/)?env: |execv")
"""Lines about a program, which is searched in PATH, or its libraries."""
_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|Errno (?:28|122)\b|\b(?:ENOSPC|EDQUOT)\b")
_IN_TASK_FOLDER = re.compile(r"/attempts/\d+/work/")
"""Where tasks have folders of their own. Source: this project's docs, run folder."""


def missing_file(lines: Sequence[str]) -> str | None:
    """Return the file that the last of these lines misses which misses one, None where none does."""
    for line in reversed(lines[-LINES:]):
        if _OF_A_PROGRAM.search(line):
            return None
        found = next(filter(None, (form.search(line) for form in _NAMED)), None)
        if found is not None:
            return found[1]
    return None


def misses_room(lines: Sequence[str]) -> bool:
    """Tell whether one of these lines says that a file system is full, or a quota used up."""
    return any(map(_NO_ROOM.search, lines))


def misses_something(lines: Sequence[str]) -> bool:
    """Tell whether the last of these lines miss a file, a program or a library."""
    return missing_file(lines) is not None or any("No such file or directory" in line for line in lines[-LINES:])


def is_looked_for_at_start(path: str) -> bool:
    """Tell whether a path is looked for from the folder in which the commands of a task start."""
    return not path.startswith("/") or _IN_TASK_FOLDER.search(path) is not None
