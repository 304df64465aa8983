"""`paislurm plan`: what would be asked of Slurm."""

from __future__ import annotations

import click

from ...planning.show import plan_dict, plan_text
from ..options import examples, job_file, json_option
from ..say import harmless, put, put_json
from ..sources import Source, compile_source


@click.command(
    epilog=examples(
        "paislurm plan job.yaml",
        "paislurm plan job.yaml --site my-cluster.yaml --json",
    )
)
@job_file
@json_option
def command(
    file: str,
    site: str | None,
    parameters: tuple[tuple[str, str], ...],
    suffix: str,
    secrets: str | None,
    *,
    as_json: bool,
) -> int:
    """Show what would be asked of Slurm, and why: layout, components, roles, ports.

    FILE is a job file, or - for standard input.
    """
    _, compiled = compile_source(Source(file=file, site=site, parameters=parameters, suffix=suffix, secrets=secrets))
    if as_json:
        put_json(plan_dict(compiled.plan))
    else:
        put(harmless(plan_text(compiled.plan)).rstrip("\n"))
    return 0
