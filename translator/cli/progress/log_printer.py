"""Show what tasks print: as it is for one task, line by line under the tasks' names for several."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from typing import IO, TYPE_CHECKING, Protocol

import click

from ...terminal_text import one_line
from ..output.console import EscapingStream, colourful, raw_output

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Sequence

    from ...app.jobs.logs.selection import LogSelection
    from ...app.jobs.logs.task_log import Piece

COLOURS = tuple(
    f"{bright}{name}" for bright in ("", "bright_") for name in ("cyan", "yellow", "green", "magenta", "blue")
)
"""Those of tasks, in turn; red is for standard error."""


class Printer(Protocol):
    """Show the pieces of the streams of tasks; a task goes by its label."""

    def write(self, label: str, piece: Piece, *, at_first: bool) -> None:
        """Show a piece; `at_first` if it was there before anybody looked."""
        ...

    def end_first(self, label: str, stream: str, *, whole: bool) -> None:
        """Go on to what comes; `whole` if nothing does, and a line without an end is shown."""
        ...

    def rest(self, label: str) -> None:
        """Show the last lines of a task that have no end."""
        ...

    def flush(self) -> None:
        """Hand on what was shown."""
        ...


def printer(selection: LogSelection, *, several: bool) -> Printer:
    """Return what shows the logs of one task, or of `several`."""
    if several or selection.grep is not None or selection.timestamps:
        return LinePrinter(selection, labelled=several)
    return PlainPrinter(both=len(selection.streams) > 1)


class PlainPrinter:
    """Write what one task prints byte by byte. Of two streams in a pipe lines stay whole; a terminal shows all at once.

    A terminal that has colours shows standard error in red.
    """

    def __init__(self, *, both: bool) -> None:
        self._outputs = {stream: raw_output() for stream in ("stdout", "stderr", "runtime")}
        terminal = isinstance(self._outputs["stdout"], EscapingStream)
        self._at_once = terminal or not both
        self._red = both and terminal and colourful(sys.stdout)
        self._kept: dict[str, bytes] = {}
        self._open = ""

    def write(self, label: str, piece: Piece, *, at_first: bool) -> None:  # noqa: ARG002 - as in Printer
        """Show what is complete of a piece."""
        data = self._kept.pop(piece.stream, b"") + piece.data
        if not self._at_once and len(data) <= MAX_LINE:
            end = data.rfind(b"\n") + 1
            data, self._kept[piece.stream] = data[:end], data[end:]
        self._show(piece.stream, data)

    def end_first(self, label: str, stream: str, *, whole: bool) -> None:  # noqa: ARG002 - as in Printer
        """Show a line without an end, if nothing more comes."""
        if whole:
            self._show(stream, self._kept.pop(stream, b""))

    def rest(self, label: str) -> None:  # noqa: ARG002 - as in Printer
        """Show the last lines that have no end."""
        for stream in list(self._kept):
            self._show(stream, self._kept.pop(stream))

    def _show(self, stream: str, data: bytes) -> None:
        if not data:
            return
        output = self._outputs[stream]
        if self._open not in ("", stream):
            output.write(b"\n")
        _write(output, data, red=self._red and stream == "stderr")
        self._open = "" if data.endswith(b"\n") else stream

    def flush(self) -> None:
        """Hand on what was shown."""
        self._outputs["stdout"].flush()


def _write(output: IO[bytes] | EscapingStream, data: bytes, *, red: bool) -> None:
    """Write what a task printed, in red on a terminal if it is to be."""
    if red and isinstance(output, EscapingStream):
        output.write_own(click.style("", fg="red", reset=False))
        output.write(data)
        output.write_own(click.style(""))
    else:
        output.write(data)


class LinePrinter:
    """Write complete lines, each with its time and under its task's name, where these are wanted; `!` marks errors.

    Where colours are welcome, each task has its own.
    """

    def __init__(self, selection: LogSelection, *, labelled: bool) -> None:
        self._output = raw_output()
        self._colours = isinstance(self._output, EscapingStream) and colourful(sys.stdout)
        self._red = self._colours and not labelled and len(selection.streams) > 1
        self._selection, self._labelled = selection, labelled
        self._lines: dict[tuple[str, str], Lines] = {}
        self._written_by: dict[tuple[str, str], float] = {}
        self._numbers: dict[str, int] = {}

    def write(self, label: str, piece: Piece, *, at_first: bool) -> None:
        """Show the lines that are complete now."""
        key = (label, piece.stream)
        if key not in self._lines:
            tail = self._selection.tail if at_first else None
            self._lines[key] = Lines(grep=self._selection.grep, tail=tail)
        if at_first:
            self._written_by[key] = piece.written_by
        self._show(key, self._lines[key].add(piece.data))

    def end_first(self, label: str, stream: str, *, whole: bool) -> None:
        """Show what was kept of the lines that were there at first."""
        key = (label, stream)
        lines = self._lines.get(key)
        if lines is not None:
            self._show(key, lines.rest() if whole else ())
            self._show(key, lines.at_first())
        self._written_by.pop(key, None)

    def rest(self, label: str) -> None:
        """Show the last lines that have no end."""
        for stream in ("stdout", "stderr", "runtime"):
            if lines := self._lines.get((label, stream)):
                self._show((label, stream), lines.rest())

    def _show(self, key: tuple[str, str], lines: Sequence[bytes]) -> None:
        if not lines:
            return
        before = self._time(key) + self._prefix(*key)
        if isinstance(self._output, EscapingStream):
            for line in lines:
                self._output.write_own(before)
                _write(self._output, line + b"\n", red=self._red and key[1] == "stderr")
        else:
            prefix = before.encode()
            self._output.write(b"".join(prefix + line + b"\n" for line in lines))

    def _time(self, key: tuple[str, str]) -> str:
        """Return by when a line was written, of one that came while it was looked for when it came."""
        if not self._selection.timestamps:
            return ""
        from ...times import format_time

        if (written_by := self._written_by.get(key)) is not None:
            return f"<= {format_time(math.ceil(written_by))} "
        return f"{format_time(int(time.time()))} "

    def _prefix(self, label: str, stream: str) -> str:
        if not self._labelled:
            return ""
        name, mark = one_line(label), "!" if stream == "stderr" else "|"
        if self._colours:
            number = self._numbers.setdefault(label, len(self._numbers))
            name = click.style(name, fg=COLOURS[number % len(COLOURS)])
            mark = click.style(mark, fg="red", bold=True) if stream == "stderr" else mark
        return f"{name} {mark} "

    def flush(self) -> None:
        """Hand on what was shown."""
        self._output.flush()


MAX_LINE = 1 << 20
"""A longer line is shown before its end has come."""


class Lines:
    """Make lines of what comes in pieces; the beginning of a line is kept back until its end comes.

    Only those that `grep` finds, where it is given; of those that are there at first only the last `tail`.
    """

    def __init__(self, *, grep: re.Pattern[str] | None = None, tail: int | None = None) -> None:
        self._grep = grep
        self._kept = b""
        self._last: deque[bytes] | None = None if tail is None or grep is None else deque(maxlen=tail)

    def add(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete now, without their line breaks; a very long one comes in parts."""
        *complete, self._kept = (self._kept + data).split(b"\n")
        if len(self._kept) > MAX_LINE:
            complete.append(self._kept)
            self._kept = b""
        return self._wanted(complete)

    def at_first(self) -> list[bytes]:
        """Return what was kept of the lines that were there at first; from now on all are wanted."""
        last, self._last = self._last, None
        return list(last or ())

    def rest(self) -> list[bytes]:
        """Return a last line that has no end, if it is there and wanted."""
        kept, self._kept = self._kept, b""
        return self._wanted([kept]) if kept else []

    def _wanted(self, lines: Iterable[bytes]) -> list[bytes]:
        found = [line for line in lines if self._grep is None or self._grep.search(_text(line))]
        if self._last is None:
            return found
        self._last.extend(found)
        return []


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="backslashreplace")
