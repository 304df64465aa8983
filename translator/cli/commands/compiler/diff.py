"""`paislurm diff`: the differences between two jobs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ....terminal_text import escape_control
from ...options import examples, json_option, pass_session
from ...output.console import colourful, print_json
from ...shell.candidates import Job, JobOrFile

if TYPE_CHECKING:
    from ....app.session import Session

COLOURS = {"---": "bold", "+++": "bold", "@@": "cyan", "-": "red", "+": "green"}
"""Styles of lines by their first characters; the first match counts."""


@click.command(
    epilog=examples(
        "paislurm diff my-job.1 my-job",
        "paislurm diff my-job job.yaml      # how has the file changed since?",
        "paislurm diff my-job my-job-2 --json",
    )
)
@click.argument("old", metavar="JOB", type=Job())
@click.argument("new", metavar="JOB|FILE", type=JobOrFile())
@json_option
@pass_session
def command(session: Session, old: str, new: str, *, as_json: bool) -> int:
    """Show the differences between two jobs: parameters, plan, and the head of the script.

    JOB is a job's name, user~name, or its Slurm id. FILE is a job file, or - for standard input: it is compiled with
    the parameters, the suffix and the site profile of JOB. Only the version of the runtime is compared, because the
    runtime is the same in every job. The exit code is 0 if nothing differs, 1 if something does, and 2 on an error.
    """
    from ....app.runs.comparing import compare

    found = compare(session, old, new)
    if as_json:
        print_json(found)
    else:
        for text in found.texts:
            _print(text)
    return 0 if found.same else 1


def _print(difference: str) -> None:
    """Print a difference, on a terminal with colours and escaped."""
    colours = sys.stdout is not None and colourful(sys.stdout)
    for line in escape_control(difference).splitlines():
        style = next((COLOURS[begin] for begin in COLOURS if line.startswith(begin)), "") if colours else ""
        click.echo(
            click.style(line, bold=True) if style == "bold" else click.style(line, fg=style or None), color=colours
        )
