"""`paislurm site check`: check job files against the site, or the site profile against the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, json_option, pass_session
from ...output.console import log_diagnostics, print_json, print_result

if TYPE_CHECKING:
    from ....app.session import Session
    from ....app.sites.checked import CheckedProfile


@click.command(
    epilog=examples("paislurm site check", "paislurm site check jobs/*.yaml", "paislurm site check job.yaml --json")
)
@click.argument("jobs", metavar="[JOB]...", nargs=-1)
@click.option(
    "--site",
    metavar="FILE",
    help="The site profile. Default: $PAISLURM_SITE, ~/.config/paislurm/site.yaml, /etc/paislurm/site.yaml.",
)
@json_option
@pass_session
def check(session: Session, jobs: tuple[str, ...], site: str | None, *, as_json: bool) -> int:
    """Show which resources job files would get on this site, or why they can never start.

    Each JOB is a job file, or - for standard input. Nothing is submitted: the answer comes from the site profile, or
    from Slurm if there is no profile. The exit code is 3 if a job file is wrong, else 4 if the site cannot run one.

    Without a JOB, the profile itself is checked: its keys and locks, its write permissions, its programs, and, if
    Slurm answers, whether the cluster still has the names in it.
    """
    from ....app.sites.checked import CheckedProfile

    found = session.sites.check(*jobs, site=site)
    if isinstance(found, CheckedProfile):
        return _print_profile(found, as_json=as_json)
    for each in found.checked:
        log_diagnostics(each.diagnostics)
        if not as_json:
            print_result(f"{each.file}: {each.verdict}")
    if as_json:
        print_json(found)
    elif not jobs:
        print_result("no site profile found, but Slurm answers: `paislurm site detect` writes a profile")
    return found.exit_status


def _print_profile(found: CheckedProfile, *, as_json: bool) -> int:
    log_diagnostics(found.diagnostics)
    if as_json:
        print_json(found)
    else:
        print_result(f"{found.file}: {found.verdict}")
    return found.exit_status
