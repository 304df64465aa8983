"""`paislurm diff`: the differences between two jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, json_option, pass_session
from ...output.console import print_json, print_result
from ...shell import candidates

if TYPE_CHECKING:
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm diff my-job@1 my-job",
        "paislurm diff my-job job.yaml      # how has the file changed since?",
        "paislurm diff my-job my-job-2 --json",
    )
)
@click.argument("old", metavar="JOB", shell_complete=candidates.jobs)
@click.argument("new", metavar="JOB|FILE", shell_complete=candidates.jobs_and_files)
@json_option
@pass_session
def command(session: Session, old: str, new: str, *, as_json: bool) -> int:
    """Show the differences between two jobs: the plan, and the head of the script.

    JOB is a job's name, user~name, or its Slurm id. FILE is a job file, or - for standard input: it is compiled with
    the parameters, the suffix and the site profile of JOB. The exit code is 0 if nothing differs, 1 if something does,
    and 2 on an error.
    """
    found = session.compiler.diff(old, new)
    if as_json:
        print_json(found)
    else:
        for text in filter(None, (found.plan_difference, found.script_difference)):
            print_result(text.rstrip("\n"))
    return 0 if found.same else 1
