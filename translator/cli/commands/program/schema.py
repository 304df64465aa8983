"""`paislurm schema`: JSON Schemas of files, for editors, and of command output, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ...options import examples, json_option, pass_session
from ...output.console import print_schema

if TYPE_CHECKING:
    from ....app.session import Session

OUTPUT = "output"


@click.command(
    epilog=examples(
        "paislurm schema > job.schema.json",
        "paislurm schema v1 > job-v1.schema.json",
        "paislurm schema site > site.schema.json",
        "paislurm schema output status > status.schema.json",
    )
    + "\n\n\b\nEditors with yaml-language-server find the schema by the first line of a YAML file:"
    "\n  # yaml-language-server: $schema=job.schema.json"
)
@click.argument("what", type=click.Choice(["v2", "v1", "site", OUTPUT]), default="v2", metavar="[v2|v1|site|output]")
@click.argument("words", nargs=-1, metavar="[COMMAND]")
@json_option
@pass_session
def command(session: Session, what: str, words: tuple[str, ...], *, as_json: bool) -> None:  # noqa: ARG001 - a schema is JSON in any case
    """Print the JSON Schema of job files, site profiles, or command output.

    v2 (the default) and v1 are job files of PAI protocol v2 and v1; site is a site profile. output is the output of
    COMMAND with `--json`, `site show` for example; `output error` is the output of any command that fails. Default
    for COMMAND: all commands.
    """
    if what == OUTPUT:
        print_schema(_of_output(" ".join(words)))
        return
    if words:
        raise click.UsageError(f"COMMAND can only be used with `{OUTPUT}`: paislurm schema {OUTPUT} {words[0]}")
    print_schema(session.compiler.schema(what))


def _of_output(name: str) -> dict[str, Any]:
    """Return the schema of a command's output; raise UsageError for an unknown command."""
    from ...command_group import ALIASES
    from ...output.documents import COMMANDS, output_schema

    name = ALIASES.get(name, name)
    if name and name not in COMMANDS:
        raise click.UsageError(f"no schema of '{name}'; choose from: {', '.join(COMMANDS)}")
    return output_schema([name] if name else [])
