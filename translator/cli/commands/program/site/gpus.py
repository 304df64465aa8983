"""`paislurm site gpus`: the GPUs of each partition, and the free ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....options import examples, json_option, pass_session
from ....output.console import log, print_json
from ....shell.known_names import OfSite

if TYPE_CHECKING:
    from .....app.session import Session


@click.command(epilog=examples("paislurm site gpus", "paislurm site gpus --partition gpu", "paislurm site gpus --json"))
@click.option(
    "--partition",
    "partitions",
    multiple=True,
    metavar="NAME",
    type=OfSite("partition"),
    help="Show only this partition; can be repeated.",
)
@click.option(
    "--host",
    metavar="HOST",
    help="Query Slurm on this login node, by SSH. Default: that of the site profile, or this machine.",
)
@json_option
@pass_session
def gpus(session: Session, partitions: tuple[str, ...], *, host: str | None, as_json: bool) -> int:
    """Show the GPUs of each partition by type: total, free, and the number of jobs that wait for some.

    The command calls sinfo and squeue once each. The GPUs of unavailable or reserved nodes are not free. A node in
    several partitions counts in each. `submit --test-only` shows the same for the partitions of one job.
    """
    from .....app.estimate.ask import site_gpus
    from .....app.estimate.gpus import SiteGpus
    from ....output.estimate import GPU_COLUMNS, gpu_rows
    from ....output.tables import print_table

    found = site_gpus(session, partitions, host)
    if as_json:
        print_json(SiteGpus(partitions=tuple(pool.gpus for pool in found)))
        return 0
    rows = [row for pool in found for row in gpu_rows(pool.gpus)]
    if rows:
        print_table(GPU_COLUMNS, rows)
    else:
        log("Slurm shows no GPUs")
    return 0
