"""Printers for logs: unchanged bytes for one task, labelled lines for several."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ...app.jobs.logs.following import MAX_LINE, LineTeller
from ...terminal_text import one_line
from ..output.console import EscapingStream, colourful, raw_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...app.jobs.logs.following import Printer
    from ...app.jobs.logs.selection import LogSelection, Stream
    from ...app.jobs.logs.task_log import Piece

COLOURS = tuple(
    f"{bright}{name}" for bright in ("", "bright_") for name in ("cyan", "yellow", "green", "magenta", "blue")
)
"""Colours of tasks, in turn; red marks standard error."""


def printer(selection: LogSelection, *, several: bool) -> Printer:
    """Return the printer for the logs of one task, or of `several`."""
    if several:
        return LinePrinter()
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

    def write(self, label: str, piece: Piece) -> None:  # noqa: ARG002 - as in Printer
        """Write the complete lines of a piece."""
        data = self._kept.pop(piece.stream, b"") + piece.data
        if not self._at_once and len(data) <= MAX_LINE:
            end = data.rfind(b"\n") + 1
            data, self._kept[piece.stream] = data[:end], data[end:]
        self._show(piece.stream, data)

    def rest(self, label: str, stream: Stream) -> None:  # noqa: ARG002 - as in Printer
        """Write the incomplete last line of a stream."""
        self._show(stream, self._kept.pop(stream, b""))

    def _show(self, stream: str, data: bytes) -> None:
        if not data:
            return
        output = self._outputs[stream]
        if self._open not in ("", stream):
            output.write(b"\n")
        if self._red and stream == "stderr" and isinstance(output, EscapingStream):
            output.write_own(click.style("", fg="red", reset=False))
            output.write(data)
            output.write_own(click.style(""))
        else:
            output.write(data)
        self._open = "" if data.endswith(b"\n") else stream

    def flush(self) -> None:
        """Flush the output."""
        self._outputs["stdout"].flush()


class LinePrinter(LineTeller):
    """Write complete lines with their task's name; `!` marks standard error.

    On a terminal with colours, each task has a different one.
    """

    def __init__(self) -> None:
        self._output = raw_output()
        super().__init__(self._show, self._output.flush)
        self._colours = isinstance(self._output, EscapingStream) and colourful(sys.stdout)
        self._numbers: dict[str, int] = {}

    def _show(self, label: str, stream: Stream, lines: Sequence[bytes]) -> None:
        if not lines:
            return
        before = self._prefix(label, stream)
        if isinstance(self._output, EscapingStream):
            for line in lines:
                self._output.write_own(before)
                self._output.write(line + b"\n")
        else:
            prefix = before.encode()
            self._output.write(b"".join(prefix + line + b"\n" for line in lines))

    def _prefix(self, label: str, stream: Stream) -> str:
        name, mark = one_line(label), "!" if stream == "stderr" else "|"
        if self._colours:
            number = self._numbers.setdefault(label, len(self._numbers))
            name = click.style(name, fg=COLOURS[number % len(COLOURS)])
            mark = click.style(mark, fg="red", bold=True) if stream == "stderr" else mark
        return f"{name} {mark} "
