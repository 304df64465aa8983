"""`paislurm site show`: the site profile in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....options import examples, json_option, pass_session
from ....output.console import log, print_json

if TYPE_CHECKING:
    from .....app.session import Session
    from .....app.site.in_force import SettingInForce


@click.command(epilog=examples("paislurm site show", "paislurm site show --json"))
@click.option(
    "--site",
    metavar="FILE",
    help="The site profile. Default: $PAISLURM_SITE, ~/.config/paislurm/site.yaml, /etc/paislurm/site.yaml.",
)
@json_option
@pass_session
def show(session: Session, site: str | None, *, as_json: bool) -> int:
    """Show the site profile in force. Each setting has the place that it comes from.

    That is a line of a profile, whose origin is user, system, detected, named or extended, or the default of paislurm;
    `locked` stands behind what a user's profile and jobs cannot change. A key without a default that the profile
    leaves out is not shown: `paislurm schema site` has all of them.
    """
    from .....app.site.in_force import layers_text, site_in_force
    from ....output.tables import print_table

    found = site_in_force(session, site)
    if as_json:
        print_json(found)
        return 0
    if found.file is None:
        log("there is no profile: all is default")
    else:
        log(f"the profile is {found.file}, {found.found_by}{layers_text(session, site)}")
    print_table(("SETTING", "VALUE", "ORIGIN", "FROM"), [_row(each) for each in found.in_force])
    return 0


def _row(each: SettingInForce) -> tuple[str, str, str, str]:
    origin = f"{each.origin}{', locked' if each.locked else ''}"
    return each.setting, each.value, origin, f"{each.file}:{each.line}" if each.line else ""
