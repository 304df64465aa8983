"""`paislurm site show`: the active site profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, json_option, pass_session
from ...output.console import log, print_json

if TYPE_CHECKING:
    from ....app.session import Session
    from ....app.sites.detecting import SettingInForce


@click.command(epilog=examples("paislurm site show", "paislurm site show --json"))
@click.option(
    "--site",
    metavar="FILE",
    help="The site profile. Default: $PAISLURM_SITE, ~/.config/paislurm/site.yaml, /etc/paislurm/site.yaml.",
)
@json_option
@pass_session
def show(session: Session, site: str | None, *, as_json: bool) -> int:
    """Show the active site profile, and the source of each setting.

    The source is the line of a profile (user, system, detected, named or extended), or paislurm's default. `locked`
    marks settings that a user's profile and jobs cannot change. A key without a default that the profile omits is not
    shown: `paislurm schema site` lists all keys.
    """
    from ...output.tables import print_table

    found = session.sites.show(site)
    if as_json:
        print_json(found)
        return 0
    if found.file is None:
        log("no site profile found: all settings are defaults")
    else:
        log(f"the profile is {found.file}, {found.found_by}{session.sites.layers_text(site)}")
    print_table(("SETTING", "ORIGIN", "FROM", "VALUE"), [_row(each) for each in found.in_force])
    return 0


def _row(each: SettingInForce) -> tuple[str, str, str, str]:
    origin = f"{each.origin}{', locked' if each.locked else ''}"
    return each.setting, origin, f"{each.file}:{each.line}" if each.line else "", each.value
