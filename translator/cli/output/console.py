"""Console output: results on standard output, messages on standard error, both escaped on a terminal."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import IO, TYPE_CHECKING, TextIO

import click

from ...errors import ABOUT_THE_SITE, MAX_FAULTS, Severity, diagnostic_text
from ...terminal_text import escape_control, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from msgspec import Struct
    from typing_extensions import Buffer

    from ...app.session import Event
    from ...errors import Diagnostic


NO_CURSOR = ("", "dumb", "unknown")
"""Values of TERM for terminals that cannot move the cursor."""


def colourful(stream: TextIO) -> bool:
    """Return whether to print colours: on a terminal with colours, unless NO_COLOR is set."""
    try:
        terminal = stream.isatty()
    except (AttributeError, ValueError):
        return False
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def takes_a_screen(typed: TextIO | None, shown: TextIO | None) -> bool:
    """Return whether both streams are a terminal that can move the cursor; colours are not needed."""
    return is_terminal(typed) and is_terminal(shown) and os.environ.get("TERM", "dumb") not in NO_CURSOR


def print_result(text: str) -> None:
    """Print a result."""
    click.echo(escape_control(text))


def print_file(text: str) -> None:
    """Print what is to be a file: as it is, but on a terminal nothing in it acts."""
    click.echo(visible(text) if is_terminal(sys.stdout) else text, nl=False)


class EscapingStream(io.RawIOBase):
    """A terminal for untrusted bytes: control characters are shown as text."""

    def __init__(self, terminal: TextIO) -> None:
        super().__init__()
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: Buffer) -> int:
        """Show the complete UTF-8 characters so far."""
        self._terminal.write(visible(self._decoder.decode(bytes(data))))
        return memoryview(data).nbytes

    def write_own(self, text: str) -> None:
        """Show a trusted text, which may contain colours."""
        self._terminal.write(text)

    def flush(self) -> None:
        """Flush the terminal."""
        self._terminal.flush()


def raw_output() -> IO[bytes] | EscapingStream:
    """Return standard output for bytes; a closed one discards everything."""
    if sys.stdout is None:
        return io.BytesIO()
    return EscapingStream(sys.stdout) if is_terminal(sys.stdout) else sys.stdout.buffer


def print_json(result: Struct) -> None:
    """Print a result as a JSON document."""
    from ...app.json_documents import document_text

    click.echo(document_text(result))


def print_json_line(result: Struct) -> None:
    """Print a result as JSON on one line."""
    from ...app.json_documents import document_text

    click.echo(document_text(result, indent=None))


def print_error(error: str, diagnostics: Iterable[Diagnostic], status: int) -> None:
    """Print an error and the exit status as JSON, on one line because `watch` prints lines."""
    from ...app.json_documents import CommandError

    print_json_line(CommandError(error=error, exit_status=status, diagnostics=tuple(diagnostics)))


def print_schema(value: Mapping[str, object]) -> None:
    """Print a JSON Schema."""
    import json

    click.echo(json.dumps(value, indent=2))


class _Told:
    """The hints and warnings that this process has printed, and whether the last message was a diagnostic."""

    def __init__(self) -> None:
        self.once: set[object] = set()
        self.diagnostic_is_last = False

    def is_new(self, what: object) -> bool:
        """Return whether something was not printed yet, and remember it."""
        new = what not in self.once
        self.once.add(what)
        return new


_told = _Told()


def forget_reported() -> None:
    """Forget all printed hints and warnings, for another call in this process."""
    _told.once.clear()
    _told.diagnostic_is_last = False


def log(text: str) -> None:
    """Print a message."""
    _told.diagnostic_is_last = False
    _tell(escape_control(text))


def tell(event: Event) -> None:
    """Print an event of a session."""
    if isinstance(event, str):
        log(event)
    else:
        log_diagnostics([event])


def log_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics with a blank line between: each warning once, one about the site once for all files."""
    colours = colourful(sys.stderr)
    new = [each for each in diagnostics if each.severity is Severity.ERROR or _told.is_new(_key(each))]
    texts = [_diagnostic(diagnostic, colours=colours) for diagnostic in new]
    if texts:
        before = "\n" if _told.diagnostic_is_last else ""
        _tell(before + "\n\n".join(texts), colours=colours)
        _told.diagnostic_is_last = True
    if len(new) >= MAX_FAULTS:
        log(f"note: the first {len(new)} messages are shown; fix these and check again")


def _key(diagnostic: Diagnostic) -> object:
    return diagnostic.code if diagnostic.code in ABOUT_THE_SITE else diagnostic


def _tell(text: str, *, colours: bool | None = None) -> None:
    click.echo(text, err=True, color=colours)


def _diagnostic(diagnostic: Diagnostic, *, colours: bool) -> str:
    text = escape_control(diagnostic_text(diagnostic))
    if not colours:
        return text
    colour = "red" if diagnostic.severity is Severity.ERROR else "yellow"
    word = f"{diagnostic.severity.value} {diagnostic.code}:"
    return text.replace(word, click.style(word, fg=colour, bold=True), 1)
