"""`paislurm site`: detect, show and check the site profile; show GPUs."""

from __future__ import annotations

import click

from ....options import examples
from .check import check
from .detect import detect
from .gpus import gpus
from .show import show


@click.group(
    name="site",
    epilog=examples(
        "paislurm site detect",
        "paislurm site detect --output ~/.config/paislurm/site.yaml",
        "paislurm site show --json",
        "paislurm site check jobs/*.yaml",
        "paislurm site gpus",
    ),
)
def command() -> None:
    """Detect a site profile, show the active one, check jobs against it; show free GPUs."""


for subcommand in (detect, show, check, gpus):
    command.add_command(subcommand)
