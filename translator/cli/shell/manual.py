"""Manual pages, made of the commands themselves, so that `man` and `--help` say the same.

Source: man(7) for the macros, man-pages(7) for the order of the sections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from paislurm import __version__

from ...errors import Diagnostic, NotFoundError
from ..command_group import GROUPS, TITLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROGRAM = "paislurm"


def pages(program: click.Group) -> Iterator[tuple[str, str]]:
    """Yield the name of each page's file, and the page: the program's first."""
    for words in _all(program, ()):
        yield f"{'-'.join((PROGRAM, *words))}.1", page(program, " ".join(words))


def page(program: click.Group, name: str) -> str:
    """Return the page of a command, `site detect` for example, or of the program; NotFoundError if there is none."""
    command: click.Command = program
    context = click.Context(program, info_name=PROGRAM)
    for word in name.split():
        found = command.get_command(context, word) if isinstance(command, click.Group) else None
        if found is None:
            raise NotFoundError(Diagnostic(code="E520", message=f"there is no command `{name}`"))
        context = click.Context(found, info_name=word, parent=context)
        command = found
    return "\n".join(_lines(command, context)) + "\n"


def _all(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _all(found, (*words, name))


def _lines(command: click.Command, context: click.Context) -> Iterator[str]:
    title = context.command_path.replace(" ", "-")
    help_text = command.help or ""
    yield f'.TH "{_text(title.upper())}" 1 "" "paislurm {__version__}" "paislurm manual"'
    yield ".SH NAME"
    yield f"{_text(title)} \\- {_text(_first_sentence(help_text))}"
    yield ".SH SYNOPSIS"
    yield f".B {_text(context.command_path)}"
    yield _text(" ".join(command.collect_usage_pieces(context)))
    yield ".SH DESCRIPTION"
    yield from _paragraphs(help_text)
    described = (each.get_help_record(context) for each in command.get_params(context))
    records = [record for record in described if record and record[1]]
    if records:
        yield ".SH OPTIONS"
        yield from _definitions(records)
    if isinstance(command, click.Group):
        yield from _commands(command, context)
    if command.epilog:
        yield from _epilog(command.epilog)
    yield ".SH SEE ALSO"
    yield ".BR sbatch (1)," if context.parent is None else f".BR {_text(PROGRAM)} (1),"
    yield ".BR sacct (1)"


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    """Say what commands there are: those of the program as `--help` groups them."""
    if context.parent is None:
        for folder, names in GROUPS.items():
            yield f".SH {_text(TITLES[folder].upper())}"
            yield from _definitions((name, line) for name, line in names.items())
        return
    yield ".SH COMMANDS"
    found = ((name, group.get_command(context, name)) for name in group.list_commands(context))
    yield from _definitions((name, each.get_short_help_str(limit=200)) for name, each in found if each is not None)


def _definitions(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, text in pairs:
        yield ".TP"
        yield f".B {_text(term)}"
        yield _text(text)


def _epilog(text: str) -> Iterator[str]:
    """Take what stands over an indented block, `Examples:`, for the title of a section."""
    for block in text.split("\n\n"):
        lines = block.strip("\n").splitlines()
        if lines[0] == "\b" and lines[1].endswith(":"):
            yield f".SH {_text(lines[1][:-1].upper())}"
            yield from _as_it_is(lines[2:])
        else:
            yield from _paragraphs(block)


def _paragraphs(text: str) -> Iterator[str]:
    r"""Fill paragraphs, but those that click is told by `\b` to leave as they are."""
    import inspect

    for block in inspect.cleandoc(text).split("\n\n"):
        lines = block.strip("\n").splitlines()
        if lines and lines[0] == "\b":
            yield from _as_it_is(lines[1:])
        else:
            yield ".PP"
            yield from (_text(line.strip()) for line in lines)


def _as_it_is(lines: Iterable[str]) -> Iterator[str]:
    yield ".PP"
    yield ".nf"
    yield from (_text(line) for line in lines)
    yield ".fi"


def _first_sentence(text: str) -> str:
    return " ".join(text.split("\n\n", maxsplit=1)[0].split()).partition(". ")[0].rstrip(".")


def _text(text: str) -> str:
    """Return text in which nothing is an order to roff."""
    shown = " ".join(text.splitlines()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{shown}" if shown[:1] in (".", "'") else shown
