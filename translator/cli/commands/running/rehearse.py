"""`paislurm rehearse`: break a job on this machine, and show whether its second attempt continues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...job_file_options import job_file
from ...options import examples, json_option, pass_session
from ...output.console import log, print_json

if TYPE_CHECKING:
    from paislurm.backends.local.faults import Fault

    from ....app.input.source import Source
    from ....app.session import Session


@click.command(epilog=examples("paislurm rehearse job.yaml", "paislurm rehearse job.yaml --fault kill --set steps=50"))
@job_file
@click.option(
    "--fault", "faults", multiple=True, type=click.Choice(("term", "kill", "node")), help="Only this fault; repeatable."
)
@click.option(
    "--patience", default=120, show_default=True, type=click.IntRange(5, 86400), help="Seconds to wait for each step."
)
@json_option
@pass_session
def command(session: Session, source: Source, *, faults: tuple[Fault, ...], patience: int, as_json: bool) -> int:
    """Run a job on this machine, break it, and show whether its second attempt continues where the first one was.

    FILE is a job file whose `extras.slurm.resumes` names checkpoints or progress. Each fault breaks a job of its own
    after its fourth checkpoint: term (TERM, and KILL after 5 s), kill (KILL of one task), node (KILL of everything).
    The jobs are called NAME-rehearse-FAULT and run in folders of their own, with links to the entries of the current
    folder. The exit code is 1 unless all continued.
    """
    from ....app.rehearsal.faults import NOT_HERE, TEXTS
    from ....app.rehearsal.rehearse import rehearse
    from ...output.tables import print_table

    found = rehearse(session, source, faults or tuple(TEXTS), patience)
    if as_json:
        print_json(found)
    else:
        rows = [
            (each.fault, each.first_end or "-", each.retry_rule or "-", each.resuming.verdict, each.resuming.shown_by)
            for each in found.rehearsals
        ]
        print_table(("fault", "first attempt", "why it was retried", "second attempt", "shown by"), rows)
        for what, why in NOT_HERE.items():
            log(f"not tried here: {what}: {why}")
    return 0 if found.all_continued else 1
