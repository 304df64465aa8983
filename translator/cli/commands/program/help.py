"""`paislurm help`: the same text as `--help`."""

from __future__ import annotations

import click

from ...options import examples, json_option
from ...output.console import print_json, print_result
from ...output.printed import HelpText
from ...shell import candidates


@click.command(epilog=examples("paislurm help submit", "paislurm help site detect"))
@click.argument("words", metavar="[COMMAND]...", nargs=-1, shell_complete=candidates.commands)
@json_option
@click.pass_context
def command(context: click.Context, words: tuple[str, ...], *, as_json: bool) -> int:
    """Show the help of a command or of the program."""
    parent = context.parent
    assert parent is not None
    shown, within = parent.command, parent
    for word in words:
        if not isinstance(shown, click.Group):
            raise click.UsageError(f"`{within.command_path}` has no subcommands")
        _, found, _ = shown.resolve_command(within, [word])
        assert found is not None
        within = click.Context(found, info_name=word, parent=within)
        shown = found
    text = shown.get_help(within)
    if as_json:
        print_json(HelpText(text=text))
    else:
        print_result(text)
    return 0
