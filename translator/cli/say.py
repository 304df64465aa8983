"""What a person reads: results on standard output, talk on standard error; nothing acts on a terminal."""

from __future__ import annotations

import io
import os
import sys
from typing import IO, TYPE_CHECKING, TextIO

import click

from ..errors import Severity, fault_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..errors import Fault


def colourful(stream: TextIO) -> bool:
    """Tell whether colours are welcome: on a terminal that has them, unless NO_COLOR is set."""
    try:
        terminal = stream.isatty()
    except (AttributeError, ValueError):
        return False
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def harmless(text: str) -> str:
    r"""Return text in which nothing but line breaks acts on a terminal: `\x1b[2J` is shown, not obeyed."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """Return text that keeps to one line and acts on nothing: for a cell of a table."""
    return harmless(text).replace("\n", "\\n")


def put(text: str) -> None:
    """Print a result."""
    click.echo(text, color=colourful(sys.stdout) if sys.stdout else None)


def raw_output() -> IO[bytes]:
    """Return standard output for what is printed byte by byte; a closed one takes everything."""
    return sys.stdout.buffer if sys.stdout is not None else io.BytesIO()


def put_json(value: object) -> None:
    """Print a result for programs."""
    import json

    click.echo(json.dumps(value, indent=2))


def say(text: str) -> None:
    """Tell the user something that is no result."""
    click.echo(harmless(text), err=True)


def say_faults(faults: Iterable[Fault]) -> None:
    """Tell the user what is wrong, with a blank line between two faults."""
    colours = colourful(sys.stderr)
    texts = [_fault(fault, colours=colours) for fault in faults]
    if texts:
        click.echo("\n\n".join(texts), err=True, color=colours)


def _fault(fault: Fault, *, colours: bool) -> str:
    text = harmless(fault_text(fault))
    if not colours:
        return text
    colour = "red" if fault.severity is Severity.ERROR else "yellow"
    word = f"{fault.severity.value} {fault.code}:"
    return text.replace(word, click.style(word, fg=colour, bold=True), 1)
