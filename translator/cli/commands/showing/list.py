"""`paislurm list`: all jobs at a glance."""

from __future__ import annotations

import click

from ...options import STATES, examples, json_option
from ...output.console import log, print_json


@click.command(
    epilog=examples(
        "paislurm list",
        "paislurm list --state running --state waiting",
        "paislurm list --all --json",
        "paislurm list --group my-sweep",
    )
)
@click.option("--all", "everything", is_flag=True, help="Also jobs whose name was used again.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([*STATES, "UNKNOWN"], case_sensitive=False),
    help="Only jobs in this state; can be repeated.",
)
@click.option("--group", metavar="GROUP", help="The jobs of a sweep, with its parameters and how each job ended.")
@json_option
def command(states: tuple[str, ...], group: str | None, *, everything: bool, as_json: bool) -> int:
    """List your jobs, the newest first."""
    from ...context import clock, store
    from ...jobs.listing import COLUMNS, lines, row
    from ...output.tables import print_table

    if group is not None:
        from ...jobs.sweep_table import show_group

        return show_group(group, states, as_json=as_json)
    now = clock()
    found, problems = lines(store(), everything=everything)
    if states:
        found = [line for line in found if line.state in states]
    if as_json:
        print_json({"jobs": [line.as_dict() for line in found]})
    elif found:
        print_table(COLUMNS, [row(line, now) for line in found])
    else:
        log(f"no jobs in {store().jobs}" if not states else "no such jobs")
    if any(not line.ended for line in found):
        from ...jobs.rounds import warn_of_overdue_round

        warn_of_overdue_round()
    for line in found:
        if not line.readable:
            log(f"warning: {line.name}: {line.reason}")
    for problem in problems:
        log(f"states are those that were known last: {problem}")
    return 0
