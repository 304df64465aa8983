"""`paislurm plan`: the plan of a job file."""

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
        "paislurm plan job.yaml --placement",
        "paislurm plan job.yaml --test-only                   # which layout would start first?",
        "paislurm plan job.yaml --site my-cluster.yaml --json",
    )
)
@job_file
@click.option("--placement", "placed", is_flag=True, help="Show which tasks run on which node.")
@click.option("--test-only", is_flag=True, help="Ask Slurm when the job would start, in each layout that it can have.")
@json_option
@pass_session
def command(session: Session, source: Source, *, placed: bool, test_only: bool, as_json: bool) -> int:
    """Show the request to Slurm and its reasons: layout, components, roles, ports.

    FILE is a job file, or - for standard input.

    --test-only also shows when Slurm would start the job if it were submitted now, in each layout that it can have. It
    calls `sbatch --test-only` and sinfo, once for each layout.
    """
    if placed and test_only:
        raise click.UsageError("--placement cannot be used with --test-only")
    if test_only:
        from ...output.estimate import print_layouts

        found = session.jobs.estimate_layouts(source)
        if as_json:
            print_json(found)
        else:
            print_result(escape_control(found.plan_text))
            print_layouts(found.layouts)
        return 0
    planned = session.compiler.plan(source)
    if as_json:
        print_json(planned.compiled.placement if placed else planned.compiled.plan)
    else:
        print_result(escape_control(planned.placement_text if placed else planned.text).rstrip("\n"))
    return 0
