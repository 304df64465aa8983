"""Parse the reports of running tasks, in files whose last line may be incomplete.

A file per node records how tasks start and end, and where they are reached. A file per task records the scripts of
prerequisites and plugins that it ran, and where its commands failed. Source: this project's docs, run folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from msgspec import Struct
from msgspec.structs import replace

from ..files.reading import read_end, read_lines
from .parsed import MAX_PORT, host_or_empty, parse_int

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

MAX_BYTES = 1 << 23
"""Limit in bytes for a node's file, from its end; a task takes about 150 bytes."""
MAX_LINE = 512


class Report(Struct, frozen=True, kw_only=True):
    """The report of a task's last attempt: its start and, with `ended`, its end."""

    index: int
    attempt: int
    node: str
    started: int
    status: int | None = None
    code: int | None = None
    behaviour: str = ""
    ended: int | None = None
    held: int | None = None
    """Until when a failed task is held for inspection."""
    background_began_at: int | None = None
    """When the commands succeeded, if processes of theirs run in the background."""
    holders: tuple[str, ...] = ()
    """Those processes, as `PID:NAME`, at most eight."""
    step: int = -1
    """The number of the task's step."""


def read_reports(folder: Path) -> dict[int, dict[int, Report]]:
    """Return the last report of each task, by the position of its role and its index; `folder` is `tasks`."""
    latest: dict[int, dict[int, Report]] = {}
    for lines in _files(folder):
        apply_reports(latest, lines)
    return latest


def read_runs(folder: Path) -> dict[int, dict[int, tuple[Report, ...]]]:
    """Return the reports of all attempts of each task, in order; keys as in `read_reports`."""
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
    """Yield the complete lines of each node's file."""
    for file in sorted(folder.glob("*.log")):
        yield read_lines(file, MAX_BYTES)


def apply_reports(latest: dict[int, dict[int, Report]], lines: Iterable[bytes]) -> None:
    """Add the reports in complete lines to `latest`. Skip invalid lines."""
    for line in lines:
        kind, *words = line.decode("ascii", errors="replace").split(" ") if len(line) <= MAX_LINE else [""]
        match kind, [parse_int(word) for word in words]:
            case "start", [int(role), _, int(index), int(attempt), _, step, int(time)]:
                known = latest.get(role, {}).get(index)
                if known is None or known.attempt < attempt:
                    latest.setdefault(role, {})[index] = Report(
                        index=index, attempt=attempt, node=words[4], started=time, step=-1 if step is None else step
                    )
            case "exit", [int(role), _, int(index), int(attempt), int(status), int(code), _, int(time), *_]:
                known = latest.get(role, {}).get(index)
                if known is not None and known.attempt == attempt:
                    latest[role][index] = replace(known, status=status, code=code, behaviour=words[6], ended=time)
            case "held", [int(role), _, int(index), int(attempt), int(status), int(until)]:
                known = latest.get(role, {}).get(index)
                if known is not None and known.attempt == attempt:
                    latest[role][index] = replace(known, status=status, held=until)
            case "background", [int(role), _, int(index), int(attempt), int(since), *_]:
                known = latest.get(role, {}).get(index)
                if known is not None and known.attempt == attempt:
                    latest[role][index] = replace(known, background_began_at=since, holders=tuple(words[5:]))
            case _:
                pass


MAX_PEER_LINE = 1 << 16
"""Limit in bytes; a port takes six."""


class Peer(NamedTuple):
    """How to reach a task: its node's address, its ports by label; and its slot on the cluster."""

    address: str
    ports: Mapping[str, tuple[int, ...]]
    slot: int
    attempt: int


def read_peers(folder: Path) -> dict[tuple[int, int], Peer]:
    """Return the peer of the last attempt of each task, by the position of its role and its index."""
    found: dict[tuple[int, int], Peer] = {}
    for file in sorted(folder.glob("*.log")):
        apply_peers(found, read_lines(file, MAX_BYTES))
    return found


def apply_peers(found: dict[tuple[int, int], Peer], lines: Iterable[bytes]) -> None:
    """Add the peers in complete lines to `found`. Skip invalid lines."""
    for line in lines:
        if not line.startswith(b"peer ") or len(line) > MAX_PEER_LINE:
            continue
        _, *words = line.decode("ascii", errors="replace").split(" ")
        match [parse_int(word) for word in words[:3]], words[3:]:
            case [int(role), int(index), int(attempt)], [address, slot, *ports]:
                known, number = found.get((role, index)), parse_int(slot)
                if number is not None and (known is None or known.attempt <= attempt):
                    found[role, index] = Peer(host_or_empty(address), _ports(ports), number, attempt)
            case _:
                pass


def _ports(words: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Parse words `label:5000,5001`. Skip invalid ports."""
    found: dict[str, tuple[int, ...]] = {}
    for word in words:
        label, _, numbers = word.partition(":")
        if label:
            ports = (parse_int(word) for word in numbers.split(","))
            found[label] = tuple(port for port in ports if port is not None and 0 < port <= MAX_PORT)
    return found


MAX_SCRIPT_BYTES = 1 << 16
"""Limit in bytes for a task's file, from its end; a script takes about 50 bytes."""
MAX_SCRIPT_LINE = 512
ScriptPhase = Literal["start", "commands", "success", "failure", "exit"]
"""The phase in which a task runs a script."""
PHASES: dict[str, ScriptPhase] = {phase: phase for phase in get_args(ScriptPhase)}


class ScriptRun(Struct, frozen=True, kw_only=True):
    """The end of a script that a task ran; `name` is its prerequisite or plugin, empty for the commands.

    Times are seconds since 1970.
    """

    task_attempt: int
    phase: ScriptPhase
    name: str
    exit_status: int
    started_at: int
    ended_at: int


def read_scripts(folder: Path) -> dict[int, tuple[ScriptRun, ...]]:
    """Return the scripts that a role's tasks ran, by index, in the order of their ends; `folder` is below `tasks`."""
    found: dict[int, tuple[ScriptRun, ...]] = {}
    for file in sorted(folder.glob("*.scripts")):
        index = parse_int(file.stem)
        if index is not None and file.is_file():
            found[index] = tuple(run for run in map(_script_run, read_lines(file, MAX_SCRIPT_BYTES)) if run is not None)
    return found


def _script_run(line: bytes) -> ScriptRun | None:
    """Parse a line. Return None if it is invalid."""
    words = line.decode("utf-8", errors="replace").split(" ", 5) if len(line) <= MAX_SCRIPT_LINE else []
    match words[1:2], [parse_int(word) for word in words[:5]], words[5:]:
        case [phase], [int(attempt), _, int(status), int(began), int(ended)], [name] if phase in PHASES:
            return ScriptRun(
                task_attempt=attempt,
                phase=PHASES[phase],
                name="" if phase == "commands" else name,
                exit_status=status,
                started_at=began,
                ended_at=ended,
            )
        case _:
            return None


MAX_END_BYTES = 1 << 16


class CommandEnd(NamedTuple):
    """The place in a task's commands where bash ended with `status`.

    `line` (from 1) is that of the command that ended it, 0 if unknown. `command` is the last command, as bash writes
    it, cut off; "" if it is not one of the task's commands, or may contain a secret.
    """

    status: int
    line: int
    command: str


def read_command_ends(file: Path) -> tuple[CommandEnd, ...]:
    """Return the ends in the order of their writing, () if the file does not exist."""
    try:
        data, _ = read_end(file, MAX_END_BYTES)
    except OSError:
        return ()
    lines = data.decode(errors="replace").split("\n")
    return tuple(end for line in lines if (end := _end(line.rstrip(" ").split(" "))))


def _end(words: list[str]) -> CommandEnd | None:
    """Parse a line: a status, a line, the lines of calls up to a 0, the file of the command, the command."""
    outermost = words.index("0", 2) if "0" in words[2:] else 0
    file, *command = words[outermost + 1 :] or [""]
    own = "" if file else " ".join(command)
    match [parse_int(word) for word in words[:outermost]]:
        case [int(status), int(line)]:
            return CommandEnd(status, line, own)
        case [int(status), int(line), *_, int(call)]:
            return CommandEnd(status, line and call if own else call, own)
        case _:
            return None
