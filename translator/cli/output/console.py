"""What a person reads: results on standard output, talk on standard error; nothing acts on a terminal."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import IO, TYPE_CHECKING, TextIO

import click

from ...errors import Severity, diagnostic_text
from ...terminal_text import escape_control, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Buffer

    from ...app.session import Event
    from ...errors import Diagnostic


NO_CURSOR = ("", "dumb", "unknown")
"""Values of TERM of what can only print line after line."""


def colourful(stream: TextIO) -> bool:
    """Tell whether colours are welcome: on a terminal that has them, unless NO_COLOR is set."""
    try:
        terminal = stream.isatty()
    except (AttributeError, ValueError):
        return False
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a person reads a stream."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def takes_a_screen(typed: TextIO | None, shown: TextIO | None) -> bool:
    """Tell whether a person types and reads at a terminal whose cursor can be moved; it need not have colours."""
    return is_terminal(typed) and is_terminal(shown) and os.environ.get("TERM", "dumb") not in NO_CURSOR


def print_result(text: str) -> None:
    """Print a result."""
    click.echo(escape_control(text))


def print_file(text: str) -> None:
    """Print what is to be a file: as it is, but on a terminal nothing in it acts."""
    click.echo(visible(text) if is_terminal(sys.stdout) else text, nl=False)


class EscapingStream(io.RawIOBase):
    """A terminal for bytes that anybody wrote: what would act on it is shown as text."""

    def __init__(self, terminal: TextIO) -> None:
        super().__init__()
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: Buffer) -> int:
        """Show what is complete of a text in UTF-8."""
        self._terminal.write(visible(self._decoder.decode(bytes(data))))
        return memoryview(data).nbytes

    def write_own(self, text: str) -> None:
        """Show a text of this program, which may have colours."""
        self._terminal.write(text)

    def flush(self) -> None:
        """Hand on to the terminal what was written."""
        self._terminal.flush()


def raw_output() -> IO[bytes] | EscapingStream:
    """Return standard output for what is printed byte by byte; a closed one takes everything."""
    if sys.stdout is None:
        return io.BytesIO()
    return EscapingStream(sys.stdout) if is_terminal(sys.stdout) else sys.stdout.buffer


def print_json(value: Mapping[str, object]) -> None:
    """Print a result for programs."""
    from .documents import document_text

    click.echo(document_text(value))


def print_json_line(value: Mapping[str, object]) -> None:
    """Print one of several results for programs, on one line."""
    from .documents import document_text

    click.echo(document_text(value, indent=None))


def print_error(error: str, diagnostics: Iterable[Diagnostic], status: int) -> None:
    """Print for programs what went wrong and the exit status: on one line, because `watch` prints lines."""
    found = [diagnostic.as_dict() for diagnostic in diagnostics]
    print_json_line({"error": error, "exit_status": status, "diagnostics": found})


def print_schema(value: Mapping[str, object]) -> None:
    """Print a JSON Schema: it has no keys of ours."""
    import json

    click.echo(json.dumps(value, indent=2))


class _Told:
    """What this call of the program has told its user: hints and warnings once, and whether a diagnostic was last."""

    def __init__(self) -> None:
        self.once: set[object] = set()
        self.diagnostic_is_last = False

    def is_new(self, what: object) -> bool:
        """Tell whether it was not told yet, and take it for told."""
        new = what not in self.once
        self.once.add(what)
        return new


_told = _Told()


def forget_what_was_told() -> None:
    """Begin another call of the program."""
    _told.once.clear()
    _told.diagnostic_is_last = False


def log(text: str) -> None:
    """Tell the user something that is no result."""
    _told.diagnostic_is_last = False
    _tell(escape_control(text))


def tell(event: Event) -> None:
    """Tell the user an event of a session."""
    if isinstance(event, str):
        log(event)
    else:
        log_diagnostics([event])


def log_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Tell the user what is wrong, warnings once, with a blank line between two diagnostics, whenever they come."""
    colours = colourful(sys.stderr)
    new = [each for each in diagnostics if each.severity is Severity.ERROR or _told.is_new(each)]
    texts = [_diagnostic(diagnostic, colours=colours) for diagnostic in new]
    if texts:
        before = "\n" if _told.diagnostic_is_last else ""
        _tell(before + "\n\n".join(texts), colours=colours)
        _told.diagnostic_is_last = True


def _tell(text: str, *, colours: bool | None = None) -> None:
    click.echo(text, err=True, color=colours)


def _diagnostic(diagnostic: Diagnostic, *, colours: bool) -> str:
    text = escape_control(diagnostic_text(diagnostic))
    if not colours:
        return text
    colour = "red" if diagnostic.severity is Severity.ERROR else "yellow"
    word = f"{diagnostic.severity.value} {diagnostic.code}:"
    return text.replace(word, click.style(word, fg=colour, bold=True), 1)
