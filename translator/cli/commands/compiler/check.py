"""`paislurm check`: report all errors and warnings of job files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....cli.job_file_options import job_files
from ....plural import counted
from ...options import examples, json_option, pass_session
from ...output.console import log_diagnostics, print_json, print_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....app.input.source import Source
    from ....app.session import Session
    from ....errors import Diagnostic


@click.command(
    epilog=examples(
        "paislurm check job.yaml",
        "paislurm check jobs/*.yaml",
        "paislurm check job.yaml --set lr=0.1 --json",
    )
)
@job_files
@json_option
@pass_session
def command(session: Session, sources: Sequence[Source], *, as_json: bool) -> int:
    """Report all errors and warnings of job files, with their lines.

    FILE is a job file, or - for standard input. It is checked against the protocol and the site, and bash checks the
    syntax of each role's commands. For several files, the exit code is the highest.
    """
    from ....app.use_cases.compiler_uses import CheckedFiles

    if len(sources) == 1:
        found = session.compiler.check_job(sources[0])
        if as_json:
            print_json(found)
        else:
            print_result(_summary(sources[0].name, found.job, found.diagnostics))
        return 0
    checked = []
    for each in session.compiler.check_each(sources):
        checked.append(each)
        if each.job is None:
            log_diagnostics(each.diagnostics)
        elif not as_json:
            print_result(_summary(each.file, each.job, each.diagnostics))
    if as_json:
        print_json(CheckedFiles(checked=tuple(checked)))
    return max(each.exit_status for each in checked)


def _summary(file: str, job: str, warnings: Sequence[Diagnostic]) -> str:
    count = f", with {counted(len(warnings), 'warning')}" if warnings else ""
    return f"{file}: job {job} can be submitted{count}"
