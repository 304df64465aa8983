"""`paislurm schema`: what files may hold, for editors, and what commands print, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ...options import examples, json_option
from ...output.console import print_schema

if TYPE_CHECKING:
    from pydantic import BaseModel

OUTPUT = "output"


@click.command(
    epilog=examples(
        "paislurm schema > job.schema.json",
        "paislurm schema v1 > job-v1.schema.json",
        "paislurm schema site > site.schema.json",
        "paislurm schema output status > status.schema.json",
    )
    + "\n\n\b\nIn a YAML file, editors that use yaml-language-server find the schema by a first line such as"
    "\n  # yaml-language-server: $schema=job.schema.json"
)
@click.argument("what", type=click.Choice(["v2", "v1", "site", OUTPUT]), default="v2", metavar="[v2|v1|site|output]")
@click.argument("words", nargs=-1, metavar="[COMMAND]")
@json_option
def command(what: str, words: tuple[str, ...], *, as_json: bool) -> None:  # noqa: ARG001 - a schema is JSON in any case
    """Print the JSON Schema of job files, of site profiles, or of what commands print.

    v2 (the default) and v1 are job files of PAI protocol v2 and v1, site is a site profile. output is what a COMMAND
    prints with `--json`, `site show` for example; `error` is what each of them prints if something is wrong. Without a
    COMMAND it is what any of them prints.
    """
    if what == OUTPUT:
        print_schema(_of_output(" ".join(words)))
        return
    if words:
        raise click.UsageError(f"a COMMAND goes with `{OUTPUT}` alone: paislurm schema {OUTPUT} {words[0]}")
    from ....validation.json_schema import json_schema

    print_schema(json_schema(*_model(what)))


def _of_output(name: str) -> dict[str, Any]:
    """Return the schema of what a command prints; UsageError for one that there is not."""
    from ...command_group import ALIASES
    from ...schemas.output_schema import commands, output_schema

    name = ALIASES.get(name, name)
    if name and name not in commands():
        raise click.UsageError(f"there is no schema of '{name}'; there are: {', '.join(commands())}")
    return output_schema([name] if name else [])


def _model(what: str) -> tuple[type[BaseModel], str]:
    """Import only the one model."""
    if what == "v1":
        from ....protocol.v1.schema import JobFileV1

        return JobFileV1, "OpenPAI job, protocol v1"
    if what == "site":
        from ....site.profile import Site

        return Site, "Site profile of paislurm"
    from ....protocol.v2.schema import JobFile

    return JobFile, "OpenPAI job, protocol v2"
