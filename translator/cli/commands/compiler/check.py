"""`paislurm check`: everything that can be said of a job file without submitting it."""

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
    """Say what is wrong with job files, all of it at once, with lines.

    FILE is a job file, or - for standard input. It is read and checked against the protocol and the site, and
    bash reads the commands of each role without running them. Of several files, the exit code is the highest.
    """
    from ....app.input.job_input import check_source, shown_name

    if len(sources) > 1:
        return _check_each(session, sources, as_json=as_json)
    compiled, warnings = check_source(session, sources[0])
    if as_json:
        print_json({"job": compiled.job.name, "diagnostics": [diagnostic.as_dict() for diagnostic in warnings]})
    else:
        print_result(_summary(shown_name(sources[0].file), compiled.job.name, warnings))
    return 0


def _check_each(session: Session, sources: Sequence[Source], *, as_json: bool) -> int:
    from ....app.input.job_input import check_source, shown_name
    from ....errors import PlanError, ProtocolError

    documents: list[dict[str, object]] = []
    for source in sources:
        file, job, status = shown_name(source.file), None, 0
        diagnostics: Sequence[Diagnostic]
        try:
            compiled, diagnostics = check_source(session, source)
            job = compiled.job.name
        except (ProtocolError, PlanError) as error:
            diagnostics, status = error.diagnostics, error.exit_code
            log_diagnostics(diagnostics)
        if job is not None and not as_json:
            print_result(_summary(file, job, diagnostics))
        found = [diagnostic.as_dict() for diagnostic in diagnostics]
        documents.append({"file": file, "job": job, "exit_status": status, "diagnostics": found})
    if as_json:
        print_json({"checked": documents})
    return max(int(str(each["exit_status"])) for each in documents)


def _summary(file: str, job: str, warnings: Sequence[Diagnostic]) -> str:
    count = f", with {counted(len(warnings), 'warning')}" if warnings else ""
    return f"{file}: job {job} can be submitted{count}"
