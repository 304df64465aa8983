"""`paislurm plan`: what would be asked of Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...planning.show import plan_dict, plan_text
from ..options import examples, json_option
from ..say import harmless, put, put_json
from ..sources import compile_source, job_file

if TYPE_CHECKING:
    from ..sources import Source


@click.command(
    epilog=examples(
        "paislurm plan job.yaml",
        "paislurm plan job.yaml --site my-cluster.yaml --json",
    )
)
@job_file
@json_option
def command(source: Source, *, as_json: bool) -> int:
    """Show what would be asked of Slurm, and why: layout, components, roles, ports.

    FILE is a job file, or - for standard input.
    """
    _, compiled = compile_source(source)
    if as_json:
        put_json(plan_dict(compiled.plan))
    else:
        put(harmless(plan_text(compiled.plan)).rstrip("\n"))
    return 0
