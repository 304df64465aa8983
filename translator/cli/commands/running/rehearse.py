"""`paislurm rehearse`: run a job, break it, and show whether its second attempt continues."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import click

from ....terminal_text import one_line
from ...job_file_options import job_file
from ...options import examples, json_option, pass_session
from ...output.console import print_json, print_result

if TYPE_CHECKING:
    from ....app.input.source import Source
    from ....app.rehearsal.provoking import Fault
    from ....app.session import Session

WIDTH = 100
FAULTS = ("term", "kill", "node", "stall")


@click.command(
    epilog=examples(
        "paislurm rehearse job.yaml",
        "paislurm rehearse job.yaml --backend slurm --tasks 2 --time 10",
        "paislurm rehearse job.yaml --fault kill --set steps=50",
    )
)
@job_file
@click.option("--fault", "faults", multiple=True, type=click.Choice(FAULTS), help="Only this fault; repeatable.")
@click.option("--backend", type=click.Choice(("local", "slurm")), default="local", help="Where. Default: local.")
@click.option("--tasks", type=click.IntRange(1), help="Run at most this many tasks of each role. Default: all.")
@click.option(
    "--patience", type=click.IntRange(5, 86400), help="Seconds to wait for each step. Default: 120, 600 with Slurm."
)
@json_option
@pass_session
def command(
    session: Session,
    source: Source,
    *,
    faults: tuple[Fault, ...],
    backend: str,
    tasks: int | None,
    patience: int | None,
    as_json: bool,
) -> int:
    """Run a job, break it, and show whether its second attempt continues where the first one was.

    FILE is a job file whose `extras.slurm.resumes` names checkpoints or progress. Each fault breaks a job of its own
    after its fourth checkpoint, or when an order of their names as text would show (step9, step10): term (TERM at the
    time limit), kill (KILL of one task), node (KILL of everything on a node), stall (STOP of one task). The jobs are
    called NAME-rehearse-FAULT and run in folders of their own, which are removed afterwards, with links to the entries
    of the current folder.

    Give a job of many tasks or hours few --tasks and a short --time.
    The exit code is 1 unless a second attempt followed, and each one continued.
    """
    from msgspec.structs import replace

    found = session.jobs.rehearse(replace(source, backend=backend), *faults, tasks=tasks, patience=patience)
    if as_json:
        print_json(found)
    else:
        for each in found.rehearsals:
            rows = (
                (each.fault, f"{each.resuming.verdict}: {each.resuming.shown_by}"),
                ("  first attempt", each.first_end or ""),
                ("  retry", each.retry_rule or ""),
                ("  remark", each.remark or ""),
            )
            for name, text in rows:
                if text:
                    print_result(fill(f"{name:15} {one_line(text)}", WIDTH, subsequent_indent=" " * 16))
    return 0 if found.all_continued else 1
