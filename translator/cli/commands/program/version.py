"""`paislurm version`: the version of the program."""

from __future__ import annotations

import click

from paislurm import __version__

from ...options import examples, json_option
from ...output.console import print_json, print_result
from ...output.printed import ProgramVersion


@click.command(epilog=examples("paislurm version", "paislurm version --json"))
@json_option
def command(*, as_json: bool) -> int:
    """Print the version, like --version."""
    if as_json:
        print_json(ProgramVersion(paislurm_version=__version__))
    else:
        print_result(f"paislurm {__version__}")
    return 0
