"""`paislurm diff`: what differs between two jobs."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from ....terminal_text import escape_control
from ...options import examples, json_option, pass_session
from ...output.console import colourful, log, print_json
from ...shell.candidates import Job, JobOrFile

if TYPE_CHECKING:
    from ....app.runs.differences import Differences
    from ....app.session import Session

COLOURS = {"---": "bold", "+++": "bold", "@@": "cyan", "-": "red", "+": "green"}
"""Of lines by what they begin with; the first that fits counts."""


@click.command(
    epilog=examples(
        "paislurm diff my-job.1 my-job",
        "paislurm diff my-job job.yaml      # what has the file become since?",
        "paislurm diff my-job my-job-2 --json",
    )
)
@click.argument("old", metavar="JOB", type=Job())
@click.argument("new", metavar="JOB|FILE", type=JobOrFile())
@json_option
@pass_session
def command(session: Session, old: str, new: str, *, as_json: bool) -> int:
    """Show what differs between two jobs: parameters, plan, and the head of the script.

    JOB is a job's name, user~name, or its Slurm id. FILE is a job file, or - for standard input: it is compiled with
    the parameters, the suffix and the site profile of JOB. Of the runtime, which is the same in every job, only the
    version is compared. The exit code is 0 if nothing differs, 1 if something does, and 2 if that cannot be told.
    """
    from ....errors import PaislurmError, UsageError

    try:
        found, names, is_whole = _differences(session, old, new)
    except PaislurmError as error:
        raise UsageError(error.diagnostics) from None
    if not is_whole:
        log("parameters are not compared: an earlier version of paislurm did not keep them")
    if as_json:
        print_json(
            {
                "compared": names,
                "same": not found.texts,
                "parameter_difference": found.parameters,
                "plan_difference": found.plan,
                "script_difference": found.script,
                "runtime_difference": found.runtime,
            }
        )
    else:
        for text in found.texts:
            _print(text)
    return 1 if found.texts else 0


def _differences(session: Session, old: str, new: str) -> tuple[Differences, list[str], bool]:
    """Return what differs, what was compared, and whether that is all of it."""
    from ....app.runs.comparing import compared_file, compared_job, is_job_file
    from ....app.runs.differences import differences
    from ....app.submit.slurm_version import installed_version

    folder = session.store.find(old, user=session.user)
    first = compared_job(folder)
    if is_job_file(session, new):
        second = compared_file(session, new, folder, partial(installed_version, session))
    else:
        second = compared_job(session.store.find(new, user=session.user))
    is_whole = first.parameters is not None and second.parameters is not None
    return differences(first, second), [first.name, second.name], is_whole


def _print(difference: str) -> None:
    """Print a difference, on a terminal with colours; nothing in it acts there."""
    colours = sys.stdout is not None and colourful(sys.stdout)
    for line in escape_control(difference).splitlines():
        style = next((COLOURS[begin] for begin in COLOURS if line.startswith(begin)), "") if colours else ""
        click.echo(
            click.style(line, bold=True) if style == "bold" else click.style(line, fg=style or None), color=colours
        )
