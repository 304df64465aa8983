"""`paislurm site`: detect, show and check the site profile."""

from __future__ import annotations

import click

from ...options import examples
from .site_check import check
from .site_detect import detect
from .site_show import show


@click.group(
    name="site",
    epilog=examples(
        "paislurm site detect",
        "paislurm site detect --output ~/.config/paislurm/site.yaml",
        "paislurm site show --json",
        "paislurm site check jobs/*.yaml",
    ),
)
def command() -> None:
    """Detect a site profile, show the active one, check jobs against it."""


for subcommand in (detect, show, check):
    command.add_command(subcommand)
