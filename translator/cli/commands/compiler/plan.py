"""`paislurm plan`: what would be asked of Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....cli.job_file_options import job_file
from ....terminal_text import escape_control
from ...options import examples, json_option, pass_session
from ...output.console import print_json, print_result

if TYPE_CHECKING:
    from ....app.input.source import Source
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm plan job.yaml",
        "paislurm plan job.yaml --site my-cluster.yaml --json",
    )
)
@job_file
@json_option
@pass_session
def command(session: Session, source: Source, *, as_json: bool) -> int:
    """Show what would be asked of Slurm, and why: layout, components, roles, ports.

    FILE is a job file, or - for standard input.
    """
    from ....app.input.job_input import compile_source
    from ....planning.plan_text import plan_dict, plan_text

    _, compiled = compile_source(session, source)
    if as_json:
        print_json(plan_dict(compiled.plan))
    else:
        print_result(escape_control(plan_text(compiled.plan)).rstrip("\n"))
    return 0
