"""`paislurm man`: manual pages, made of what `--help` prints."""

from __future__ import annotations

import click

from ....errors import Diagnostic, FolderError
from ...options import examples, json_option
from ...output.console import log, print_file, print_json
from ...shell.candidates import Command


@click.command(epilog=examples("paislurm man --into ~/.local/share/man/man1", "paislurm man submit | man -l -"))
@click.argument("name", metavar="[COMMAND]", default="", type=Command())
@click.option(
    "--into",
    "folder",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Write all pages there.",
)
@json_option
def command(name: str, folder: str | None, *, as_json: bool) -> int:
    """Print the manual page of a command, or of the whole program; or write all pages into a folder.

    `man` looks in ~/.local/share/man/man1 where ~/.local/bin is in $PATH.
    """
    from ...main import cli
    from ...shell.manual import page, pages

    if folder is None:
        text = page(cli, name)
        if as_json:
            print_json({"text": text})
        else:
            print_file(text)
        return 0
    from pathlib import Path

    into = Path(folder)
    try:
        into.mkdir(parents=True, exist_ok=True)
        for file, text in pages(cli):
            (into / file).write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"the manual pages cannot be written: {error.filename}: {error.strerror}"
        hint = "name a folder in which you may write, such as ~/.local/share/man/man1"
        raise FolderError(Diagnostic(code="E500", message=message, hint=hint)) from None
    if as_json:
        print_json({"folder": folder})
    log(f"the manual pages are in {into}: `man paislurm`, `man paislurm-submit`")
    return 0
