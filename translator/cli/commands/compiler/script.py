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
    from ....app.input.job_input import compile_source
    from ....app.scripts import ScriptFile
    from ....rendering.runtime_bundle import SEAL

    _, compiled = compile_source(session, source)
    script = compiled.script.partition(SEAL)[0] if head else compiled.script
    if compiled.plan.secrets:
        where = f"{compiled.plan.job_name}.secrets in the submit folder"
        log(f"before sbatch, write each secret to a file in {where}: {' '.join(compiled.plan.secrets)}")
    if output is not None:
        from pathlib import Path

        from ....app.output_file import write_output

        write_output(Path(output), script.encode(errors="surrogateescape"), mode=0o644)
    if as_json:
        print_json(ScriptFile(job=compiled.job.name, file=output, text=script))
    elif output is None:
        print_file(script)
    else:
        log(f"wrote {output}")
    return 0
