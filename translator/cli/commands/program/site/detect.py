"""`paislurm site detect`: a site profile by what Slurm says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....options import examples, json_option, pass_session
from ....output.console import log, print_file, print_json
from ....shell.known_names import OfSite

if TYPE_CHECKING:
    from .....app.session import Session


@click.command(
    epilog=examples(
        "paislurm site detect",
        "paislurm site detect --probe --partition gpu",
        "paislurm site detect --host login1 --output ~/.config/paislurm/site.yaml",
        "paislurm site detect --output ~/.config/paislurm/site.yaml",
        "paislurm site detect --output ~/.config/paislurm/site.yaml --force",
    )
)
@click.option("-o", "--output", metavar="FILE", help="Write the profile there instead of to standard output.")
@click.option("--force", is_flag=True, help="Write over a FILE that says something else, and keep it as FILE.old.")
@click.option("--host", metavar="HOST", help="Ask at this login node, by SSH, instead of on this machine.")
@click.option("--probe", is_flag=True, help="Look at one node, too, by a job of a second or so.")
@click.option(
    "--partition",
    default="",
    metavar="NAME",
    type=OfSite("partition"),
    help="With --probe: of which partition the node is.",
)
@click.option(
    "--account", default="", metavar="NAME", type=OfSite("account"), help="With --probe: the account of the job."
)
@click.option("--sysfs", default="/sys/class", metavar="DIR", help="With --probe: where nodes have infiniband and net.")
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
    """Write a site profile by what Slurm says. It has comments, and a list of what could not be learnt.

    It asks Slurm seven questions: scontrol four, sacctmgr two and srun one. No job is submitted, and no node is
    looked at, but with --probe: then a job of one task tells of a node's InfiniBand, networks, container runtimes,
    ports, limits and shared folders.

    A FILE that has other values for these keys stays as it is, because you may have changed it: what differs is
    printed, and the exit code is 1. Your comments and other keys are no difference.
    """
    from .....app.site.ask import ProbeOptions
    from .....app.site.detecting import detect_site

    look = ProbeOptions(partition=partition, account=account, sysfs=sysfs) if probe else None
    found = detect_site(session, output, force=force, host=host, probe=look)
    if as_json:
        print_json(found)
    else:
        print_file(found.text if output is None else found.difference or "")
    if output is not None:
        log(found.outcome)
    return 1 if found.difference and not found.written else 0
