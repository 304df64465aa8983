"""`paislurm check`: everything that can be said of a job file without submitting it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....plural import counted
from ...input.job_input import job_file
from ...options import examples, json_option
from ...output.console import print_json, print_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....errors import Diagnostic
    from ...input.job_input import Source


@click.command(
    epilog=examples(
        "paislurm check job.yaml",
        "paislurm check job.yaml --set lr=0.1 --json",
    )
)
@job_file
@json_option
def command(source: Source, *, as_json: bool) -> int:
    """Say what is wrong with a job file, all of it at once, with lines.

    FILE is a job file, or - for standard input. It is read and checked against the protocol and the site, and
    bash reads the commands of each role without running them.
    """
    from ...input.job_input import check_source, shown_name

    compiled, warnings = check_source(source)
    if as_json:
        print_json({"job": compiled.job.name, "diagnostics": [diagnostic.as_dict() for diagnostic in warnings]})
    else:
        print_result(_summary(shown_name(source.file), compiled.job.name, warnings))
    return 0


def _summary(file: str, job: str, warnings: Sequence[Diagnostic]) -> str:
    count = f", with {counted(len(warnings), 'warning')}" if warnings else ""
    return f"{file}: job {job} can be submitted{count}"
