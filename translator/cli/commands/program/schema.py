"""`paislurm schema`: what files may hold, for editors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, json_option
from ...output.console import print_schema

if TYPE_CHECKING:
    from ....validation.model import Model


@click.command(
    epilog=examples(
        "paislurm schema > job.schema.json",
        "paislurm schema v1 > job-v1.schema.json",
        "paislurm schema site > site.schema.json",
    )
    + "\n\n\b\nIn a YAML file, editors that use yaml-language-server find the schema by a first line such as"
    "\n  # yaml-language-server: $schema=job.schema.json"
)
@click.argument("what", type=click.Choice(["v2", "v1", "site"]), default="v2", metavar="[v2|v1|site]")
@json_option
def command(what: str, *, as_json: bool) -> None:  # noqa: ARG001 - a schema is JSON in any case
    """Print the JSON Schema of job files or of site profiles.

    v2 (the default) and v1 are job files of PAI protocol v2 and v1, site is a site profile.
    """
    from ....validation.json_schema import json_schema

    print_schema(json_schema(*_model(what)))


def _model(what: str) -> tuple[type[Model], str]:
    """Import only the one model."""
    if what == "v1":
        from ....protocol.v1.schema import JobFileV1

        return JobFileV1, "OpenPAI job, protocol v1"
    if what == "site":
        from ....site.schema import SiteFile

        return SiteFile, "Site profile of paislurm"
    from ....protocol.v2.schema import JobFile

    return JobFile, "OpenPAI job, protocol v2"
