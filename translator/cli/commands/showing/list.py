"""`paislurm list`: all jobs at a glance."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ....plural import counted, verb
from ....times import MOMENTS, moment
from ...options import STATES, NearChoice, WholeNumber, examples, json_option, pass_session
from ...output.console import is_terminal, log, print_json
from ...shell.candidates import Columns, Group, JobOrGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....app.jobs.listing import Line
    from ....app.session import Session
    from ....state.job_folder import JobFolder

ON_A_TERMINAL = 30
"""So many jobs a terminal is shown, unless another number is asked for."""


@click.command(
    epilog=examples(
        "paislurm list",
        "paislurm list 'train-*' --state running --state waiting",
        "paislurm list --since 2d --sort -elapsed --columns name,state,elapsed,nodes",
        "paislurm list --columns name,state,param.lr",
        "paislurm list --group my-sweep",
        "paislurm list --limit 0 --json",
    )
)
@click.argument("words", metavar="[JOB]...", nargs=-1, type=JobOrGroup())
@click.option("--all", "everything", is_flag=True, help="Also jobs whose name was used again.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=NearChoice([*STATES, "UNKNOWN"]),
    help="Only jobs in this state; can be repeated.",
)
@click.option(
    "--group", metavar="GROUP", type=Group(), help="The jobs of a sweep, with its parameters and how each job ended."
)
@click.option("--since", metavar="TIME", help="Only jobs submitted since: 12h or 1h30m ago, or a date and time.")
@click.option("--limit", type=WholeNumber(min=0), metavar="N", help="At most N jobs; 0 is all. A terminal has 30.")
@click.option("--sort", "by", metavar="COLUMN", type=Columns(), help="Sort by a column; -COLUMN has the largest first.")
@click.option(
    "--columns", metavar="A,B,...", type=Columns(), help="Show these columns; a wrong one tells which there are."
)
@json_option
@pass_session
def command(
    session: Session,
    words: tuple[str, ...],
    states: tuple[str, ...],
    group: str | None,
    since: str | None,
    limit: int | None,
    by: str | None,
    columns: str | None,
    *,
    everything: bool,
    as_json: bool,
) -> int:
    """List your jobs, the newest first.

    JOB is a job's name, user~name, its Slurm id, or a pattern as 'train-*'; without one, all jobs. The name of a sweep
    shows its jobs as --group does; with --columns, --sort, --limit or --since they are shown as any others. A terminal
    shows the newest 30, as far as they fit; a pipe and --json get all of them, whole.
    """
    from ....app.jobs.listing import lines, with_run
    from ....app.jobs.selecting import named_groups, select
    from ...output.job_table import DEFAULT_COLUMNS, needs_run, sorted_lines
    from ...output.several import print_lines

    if group is None and len(words) == 1:
        group = next(iter(named_groups(session.store, words, user=session.user)), None)
    if group is not None and (since, limit, by, columns) == (None,) * 4:
        from ...output.sweep_table import show_group

        return show_group(session, group, states, as_json=as_json)
    shown = _named(columns.split(",")) if columns else DEFAULT_COLUMNS
    order = _named([by.removeprefix("-")]) if by is not None else ()
    now = session.now()
    earliest = None if since is None else _since(since, now)
    if group is not None:
        from ...output.sweep_table import folders_of_group

        folders: list[JobFolder] | None = folders_of_group(session, group)
    else:
        folders = select(session.store, words, user=session.user) if words else None
    names = None if folders is None else {folder.name for folder in folders}
    found, problems = lines(session, session.store, everything=everything or names is not None, names=names)
    if states:
        found = [line for line in found if line.state in states]
    if earliest is not None:
        found = [line for line in found if line.begun_at >= earliest]
    if needs_run(order):
        found = with_run(found)
    if by is not None:
        found = sorted_lines(found, by, now)
    most = limit if limit is not None else ON_A_TERMINAL if is_terminal(sys.stdout) and not as_json else 0
    chosen, rest = (found[:most], found[most:]) if most else (found, [])
    if as_json or needs_run(shown):
        chosen = with_run(chosen)
    if as_json:
        print_json({"jobs": [_listed_dict(line) for line in chosen]})
    elif chosen:
        print_lines(chosen, shown, now, fit=is_terminal(sys.stdout))
    else:
        log("no such jobs" if states or earliest is not None else f"no jobs in {session.store.jobs}")
    _say_more(session, found, rest, problems)
    return 0


def _listed_dict(line: Line) -> dict[str, object]:
    """Return a line and its run for `--json`."""
    return line.as_dict() | {"parameters": dict(line.parameters), "result": line.result}


def _named(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns; raise what click tells users for one that there is not."""
    from ....errors import did_you_mean
    from ...output.job_table import COLUMNS, column

    for name in names:
        if column(name) is None:
            hint = did_you_mean(name, COLUMNS)
            message = f"there is no column {name!r}{f' ({hint})' if hint else ''}; columns are {', '.join(COLUMNS)}"
            raise click.UsageError(f"{message}, and param.NAME for a parameter of the job file")
    return tuple(names)


def _since(text: str, now: int) -> int:
    found = moment(text, now)
    if found is None:
        raise click.UsageError(f"--since {text!r} is no time: it is {MOMENTS}")
    return found


def _say_more(session: Session, found: Sequence[Line], rest: Sequence[Line], problems: Sequence[str]) -> None:
    """Say what the table does not: how many jobs it leaves out, and what is not known of the others."""
    if rest:
        living = sum(not line.ended for line in rest)
        which = f", {living} of them not ended" if living else ""
        more = f"{len(rest)} more of {counted(len(found), 'job')} {verb(len(rest), 'is', 'are')} not shown{which}"
        log(f"{more}: --limit 0 shows all")
    if any(not line.ended for line in found):
        from ....app.jobs.rounds import warn_of_overdue_round

        warn_of_overdue_round(session)
    for line in found:
        if not line.readable:
            log(f"warning: {line.name}: {line.reason}")
    for problem in problems:
        log(f"states are those that were known last: {problem}")
