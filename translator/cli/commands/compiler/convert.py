"""`paislurm convert`: convert a job file of protocol v1 to protocol v2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, json_option, pass_session
from ...output.console import log, log_diagnostics, print_file, print_json

if TYPE_CHECKING:
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm convert job.json > job.yaml",
        "paislurm convert job.json -o job.yaml && paislurm plan job.yaml",
    )
)
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="FILE", help="Write the job file to FILE instead of standard output.")
@json_option
@pass_session
def command(session: Session, file: str, output: str | None, *, as_json: bool) -> int:
    """Convert a job file of protocol v1 (JSON) to protocol v2 (YAML) and print it.

    FILE is a job file, or - for standard input. Settings without an equivalent in protocol v2 go under
    `extras.slurm.v1`. Each necessary change is reported as a warning and a comment. The comments of FILE are not kept.
    """
    from ....app.input.source import Source

    found = session.compiler.convert(Source(file=file), output)
    log_diagnostics(found.diagnostics)
    if as_json:
        print_json(found)
    elif output is None:
        print_file(found.text)
    else:
        log(f"wrote {output}")
    return 0
