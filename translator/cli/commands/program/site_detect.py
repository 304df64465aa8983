"""`paislurm site detect`: write a site profile from Slurm's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, json_option, pass_session
from ...output.console import log, print_file, print_json
from ...shell import candidates

if TYPE_CHECKING:
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm site detect",
        "paislurm site detect --probe --partition gpu",
        "paislurm site detect --host login1 --output ~/.config/paislurm/site.yaml",
        "paislurm site detect --output ~/.config/paislurm/site.yaml --force",
    )
)
@click.option("-o", "--output", metavar="FILE", help="Write the profile to FILE instead of standard output.")
@click.option("--force", is_flag=True, help="Overwrite a FILE with different contents, and keep it as FILE.old.")
@click.option("--host", metavar="HOST", help="Query Slurm on this login node, by SSH, instead of on this machine.")
@click.option("--probe", is_flag=True, help="Also inspect one node, with a job of about a second.")
@click.option(
    "--partition",
    default="",
    metavar="NAME",
    shell_complete=candidates.partitions,
    help="With --probe: the partition of the node.",
)
@click.option(
    "--account",
    default="",
    metavar="NAME",
    shell_complete=candidates.accounts,
    help="With --probe: the account of the job.",
)
@click.option(
    "--sysfs", default="/sys/class", metavar="DIR", help="With --probe: the folder of infiniband and net on nodes."
)
@json_option
@pass_session
def detect(
    session: Session,
    output: str | None,
    *,
    force: bool,
    host: str | None,
    probe: bool,
    partition: str,
    account: str,
    sysfs: str,
    as_json: bool,
) -> int:
    """Write a site profile from Slurm's configuration, with comments and a list of the unknown settings.

    The command calls scontrol four times, sacctmgr twice and srun once. It submits no job and inspects no node, except
    with --probe: then a job of one task reports a node's InfiniBand, networks, container runtimes, ports, limits and
    shared folders.

    A FILE with other values for these keys is not changed, because you may have edited it: the differences are
    printed, and the exit code is 1. Your comments and other keys do not count as differences.
    """
    from ....app.sites.ask import ProbeOptions

    probing = ProbeOptions(partition=partition, account=account, sysfs=sysfs) if probe else None
    found = session.sites.detect(output, force=force, host=host, probe=probing)
    if as_json:
        print_json(found)
    else:
        print_file(found.text if output is None else found.difference or "")
    if output is not None:
        log(found.outcome)
    return 1 if found.difference and not found.written else 0
