"""`paislurm script`: the batch script of a job file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....cli.job_file_options import job_file
from ...options import examples, json_option, pass_session
from ...output.console import log, print_file, print_json

if TYPE_CHECKING:
    from ....app.input.source import Source
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm script job.yaml",
        "paislurm script --head job.yaml",
        "paislurm script job.yaml -o job.sbatch && sbatch job.sbatch",
    )
)
@job_file
@click.option("--head", is_flag=True, help="Print only the head, the part before the runtime, for review.")
@click.option("-o", "--output", metavar="FILE", help="Write the script to FILE instead of standard output.")
@json_option
@pass_session
def command(session: Session, source: Source, output: str | None, *, head: bool, as_json: bool) -> int:
    """Print the batch script of a job file. `sbatch` can submit it without paislurm.

    FILE is a job file, or - for standard input.
    """
    found = session.compiler.script(source, output, head=head)
    if as_json:
        print_json(found)
    elif output is None:
        print_file(found.text)
    else:
        log(f"wrote {output}")
    return 0
