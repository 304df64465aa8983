"""Printers for logs: unchanged bytes for one task, labelled lines for several."""

from __future__ import annotations

import math
import sys
import time
from typing import IO, TYPE_CHECKING

import click

from ...app.jobs.logs.lines import MAX_LINE, Lines
from ...terminal_text import one_line
from ..output.console import EscapingStream, colourful, raw_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...app.jobs.logs.lines import Printer
    from ...app.jobs.logs.selection import LogSelection
    from ...app.jobs.logs.task_log import Piece

COLOURS = tuple(
    f"{bright}{name}" for bright in ("", "bright_") for name in ("cyan", "yellow", "green", "magenta", "blue")
)
"""Colours of tasks, in turn; red marks standard error."""


def printer(selection: LogSelection, *, several: bool) -> Printer:
    """Return the printer for the logs of one task, or of `several`."""
    if several or selection.grep is not None or selection.timestamps:
        return LinePrinter(selection, labelled=several)
    return PlainPrinter(both=len(selection.streams) > 1)


class PlainPrinter:
    """Write the output of one task unchanged: whole lines for two streams in a pipe, all bytes at once on a terminal.

    A terminal with colours shows standard error in red.
    """

    def __init__(self, *, both: bool) -> None:
        self._outputs = {stream: raw_output() for stream in ("stdout", "stderr", "runtime")}
        terminal = isinstance(self._outputs["stdout"], EscapingStream)
        self._at_once = terminal or not both
        self._red = both and terminal and colourful(sys.stdout)
        self._kept: dict[str, bytes] = {}
        self._open = ""

    def write(self, label: str, piece: Piece, *, at_first: bool) -> None:  # noqa: ARG002 - as in Printer
        """Write the complete lines of a piece."""
        data = self._kept.pop(piece.stream, b"") + piece.data
        if not self._at_once and len(data) <= MAX_LINE:
            end = data.rfind(b"\n") + 1
            data, self._kept[piece.stream] = data[:end], data[end:]
        self._show(piece.stream, data)

    def end_first(self, label: str, stream: str, *, whole: bool) -> None:  # noqa: ARG002 - as in Printer
        """Write an incomplete last line if the log is `whole`."""
        if whole:
            self._show(stream, self._kept.pop(stream, b""))

    def rest(self, label: str) -> None:  # noqa: ARG002 - as in Printer
        """Write incomplete last lines."""
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
        """Flush the output."""
        self._outputs["stdout"].flush()


def _write(output: IO[bytes] | EscapingStream, data: bytes, *, red: bool) -> None:
    """Write bytes of a task, in red on a terminal with `red`."""
    if red and isinstance(output, EscapingStream):
        output.write_own(click.style("", fg="red", reset=False))
        output.write(data)
        output.write_own(click.style(""))
    else:
        output.write(data)


class LinePrinter:
    """Write complete lines, optionally with their time and their task's name; `!` marks standard error.

    On a terminal with colours, each task has a different one.
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
        """Write the lines that are complete now."""
        key = (label, piece.stream)
        if key not in self._lines:
            tail = self._selection.tail if at_first else None
            self._lines[key] = Lines(grep=self._selection.grep, tail=tail)
        if at_first:
            self._written_by[key] = piece.written_by
        self._show(key, self._lines[key].add(piece.data))

    def end_first(self, label: str, stream: str, *, whole: bool) -> None:
        """Write the retained lines that existed at the start."""
        key = (label, stream)
        lines = self._lines.get(key)
        if lines is not None:
            self._show(key, lines.rest() if whole else ())
            self._show(key, lines.at_first())
        self._written_by.pop(key, None)

    def rest(self, label: str) -> None:
        """Write incomplete last lines."""
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
        """Return the time of arrival of a new line, or a bound for an existing one."""
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
        """Flush the output."""
        self._output.flush()
