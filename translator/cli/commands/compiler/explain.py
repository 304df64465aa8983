"""`paislurm explain`: the origin of each line of a script, or what happens to a job in a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from ....cli.job_file_options import job_file
from ...options import examples, json_option, pass_session
from ...output.console import log, print_json, print_result

if TYPE_CHECKING:
    from ....app.input.source import Source
    from ....app.session import Session

MAX_DIGITS = 9


@click.command(
    epilog=examples(
        "paislurm explain job.yaml",
        "paislurm explain job.yaml:12",
        "paislurm explain job.yaml --when 'worker-3 exits 137'",
        "paislurm explain job.yaml --when '2 of worker fail, a node is lost'",
    )
)
@job_file
@click.option(
    "--when",
    "scenario",
    metavar="EVENTS",
    help="Show instead what decides the job in a scenario, and whether it is retried; nothing runs.",
)
@json_option
@pass_session
def command(session: Session, source: Source, *, scenario: str | None, as_json: bool) -> int:
    """Show the origin of the script's lines: lines of the job file, or rules.

    FILE is a job file, or - for standard input; FILE:LINE shows only the lines that come from LINE. EVENTS are
    separated by commas, in the order of time, such as `worker-0 succeeds, time is up, preempted`.
    """
    from ....app.compiler.scripts import ExplainedScript, explain
    from ....app.what_if.explain import explain_scenario
    from ...output.explained import origin_row, scenario_text
    from ...output.tables import print_table

    if scenario is not None:
        answer = explain_scenario(session, source, scenario)
        print_json(answer) if as_json else print_result(scenario_text(answer))
        return 0

    name, line = _split(source.file)
    found = explain(session, replace(source, file=name), line)
    if as_json:
        print_json(ExplainedScript(lines=tuple(found)))
    elif found:
        print_table(("SCRIPT", "JOB FILE", "LINE", "RULE"), [origin_row(origin) for origin in found])
    else:
        log(f"nothing in the script comes from line {line} of {name}")
    return 0


def _split(file: str) -> tuple[str, int | None]:
    """Split `FILE:LINE` into the file and the line."""
    from pathlib import Path

    name, colon, line = file.rpartition(":")
    if not colon or Path(file).exists() or not (line.isdecimal() or Path(name).is_file()):
        return file, None
    if line.isdecimal() or not line:
        return name, int(line[:MAX_DIGITS] or 0)
    raise click.UsageError(f"{name} has no line {line!r}")
