"""`paislurm ssh`: another name for `paislurm exec`."""

from __future__ import annotations

import click

from ...options import examples
from .exec import command as execute

command = click.Command(
    "ssh",
    context_settings=execute.context_settings,
    params=execute.params,
    callback=execute.callback,
    help=f"The same as exec.\n\n{(execute.help or '').partition(chr(10) * 2)[2]}",
    epilog=examples("paislurm ssh my-job worker-0", "paislurm ssh my-job worker-0 hostname", "paislurm ssh my-job"),
)
