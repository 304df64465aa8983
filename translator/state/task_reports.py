"""What tasks report while they run: lines in a file for each node, of which the last may be torn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from .safe_read import parse_int, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MAX_BYTES = 1 << 23
"""How much of a node's file is read, from its end; a task takes about 150 bytes."""
MAX_LINE = 512


class Report(Struct, frozen=True, kw_only=True):
    """Say what a task reported of its last attempt: that it started and, with `ended`, how it ended."""

    index: int
    attempt: int
    node: str
    started: int
    status: int | None = None
    code: int | None = None
    behaviour: str = ""
    ended: int | None = None
    held: int | None = None
    """Until when a failed task is held for somebody to look at it."""
    step: int = -1
    """The number of the step that it runs in."""


def read_reports(folder: Path) -> dict[int, dict[int, Report]]:
    """Return the last report of each task, by the position of its role and its index; `folder` is `tasks`."""
    latest: dict[int, dict[int, Report]] = {}
    for lines in _files(folder):
        apply_reports(latest, lines)
    return latest


def read_runs(folder: Path) -> dict[int, dict[int, tuple[Report, ...]]]:
    """Return the reports of all task attempts of each task, in order; keys as in `read_reports`."""
    of_attempt: dict[bytes, list[bytes]] = {}
    for lines in _files(folder):
        for line in lines:
            words = line[:MAX_LINE].split(b" ", 5)
            of_attempt.setdefault(words[4] if len(words) > 4 else b"", []).append(line)
    found: dict[int, dict[int, tuple[Report, ...]]] = {}
    for lines in of_attempt.values():
        latest: dict[int, dict[int, Report]] = {}
        apply_reports(latest, lines)
        for role, reports in latest.items():
            runs = found.setdefault(role, {})
            for index, report in reports.items():
                runs[index] = tuple(sorted((*runs.get(index, ()), report), key=lambda run: run.attempt))
    return found


def _files(folder: Path) -> Iterator[list[bytes]]:
    """Yield the complete lines of the file of each node."""
    for file in sorted(folder.glob("*.log")):
        yield read_lines(file, MAX_BYTES)


def apply_reports(latest: dict[int, dict[int, Report]], lines: Iterable[bytes]) -> None:
    """Add what complete lines report to what is known; a line that is none of ours is passed over."""
    for line in lines:
        words = line.decode("ascii", errors="replace").split(" ") if len(line) <= MAX_LINE else []
        role = parse_int(words[1]) if len(words) > 1 else None
        if role is None:
            continue
        of_role = latest.get(role, {})
        match words:
            case ["start", _, _, index, attempt, node, step, time]:
                _on_start(of_role, parse_int(index), parse_int(attempt), node, parse_int(step), parse_int(time))
            case ["exit", _, _, index, attempt, status, code, behaviour, time]:
                _on_exit(
                    of_role, parse_int(index), parse_int(attempt), parse_int(status), parse_int(code), behaviour,
                    parse_int(time),
                )  # fmt: skip
            case ["held", _, _, index, attempt, status, until]:
                _on_held(of_role, parse_int(index), parse_int(attempt), parse_int(status), parse_int(until))
            case _:
                pass
        if of_role:
            latest[role] = of_role


def _on_start(
    latest: dict[int, Report], index: int | None, attempt: int | None, node: str, step: int | None, time: int | None
) -> None:
    if index is None or attempt is None or time is None:
        return
    known = latest.get(index)
    if known is None or known.attempt < attempt:
        latest[index] = Report(index=index, attempt=attempt, node=node, started=time, step=-1 if step is None else step)


def _on_exit(
    latest: dict[int, Report],
    index: int | None,
    attempt: int | None,
    status: int | None,
    code: int | None,
    behaviour: str,
    time: int | None,
) -> None:
    known = latest.get(index) if index is not None else None
    if known is None or known.attempt != attempt or time is None or status is None or code is None:
        return
    latest[known.index] = replace(known, status=status, code=code, behaviour=behaviour, ended=time)


def _on_held(
    latest: dict[int, Report], index: int | None, attempt: int | None, status: int | None, until: int | None
) -> None:
    known = latest.get(index) if index is not None else None
    if known is not None and known.attempt == attempt and status is not None and until is not None:
        latest[known.index] = replace(known, status=status, held=until)
