"""`paislurm explain`: the origin of each line of a script, a job in a scenario, or an exit code."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

import click

from ....app.what_if.scenario import FORMS
from ...job_file_options import CodeCommand, job_file_or_code
from ...options import examples, json_option, pass_session
from ...output.console import print_json, print_result

if TYPE_CHECKING:
    from ....app.input.source import Source
    from ....app.session import Session


@click.command(
    cls=CodeCommand,
    epilog=examples(
        "paislurm explain job.yaml",
        "paislurm explain job.yaml --when '2 of worker exit 1, a node is lost'",
        "paislurm explain 137",
    )
    + f"\n\n\b\nForms of EVENTS, which are in the order of time, separated by commas:\n{indent(FORMS, '  ')}",
)
@job_file_or_code
@click.option(
    "--when",
    "scenario",
    metavar="EVENTS",
    help="Show instead what decides the job in a scenario, and whether it is retried; nothing runs.",
)
@json_option
@pass_session
def command(session: Session, source: Source, *, scenario: str | None, as_json: bool) -> int:
    """Show the origin of the script's lines: lines of the job file, or rules. Or explain an exit code.

    FILE is a job file, or - for standard input. CODE is an exit code, its name, the exit status of a command, a
    Slurm state, or an end as sacct, scontrol and seff print it (0:9, SIGKILL); a file of that name comes first.
    """
    from ...output.explained import ExplainedScript, exit_text, origin_row, scenario_text
    from ...output.tables import print_table

    if scenario is not None:
        answer = session.compiler.what_if(source, scenario)
        print_json(answer) if as_json else print_result(scenario_text(answer))
        return 0
    if session.compiler.is_exit(source.file):
        meaning = session.compiler.exit_explanation(source.file, source.site)
        print_json(meaning.record) if as_json else print_result(exit_text(meaning))
        return 0
    found = session.compiler.explain(source)
    if as_json:
        print_json(ExplainedScript(lines=tuple(found)))
    else:
        print_table(("SCRIPT", "JOB FILE", "LINE", "RULE"), [origin_row(origin) for origin in found])
    return 0
