"""`paislurm runtime`: the runtime of batch scripts."""

from __future__ import annotations

import click

from ...options import examples, json_option
from ...output.console import print_file, print_json


@click.command(
    epilog=examples(
        "paislurm runtime",
        "paislurm runtime charliecloud registry",
    )
)
@click.argument("uses", metavar="[USE...]", nargs=-1)
@json_option
def command(uses: tuple[str, ...], *, as_json: bool) -> int:
    """Print the runtime of this version's batch scripts, for an administrator to read once.

    USE is a part that only some jobs need, by its name in a script's seal, such as `registry`; an unknown name prints
    the list. Default: the parts that every script contains. The seal contains the `sha256sum` of this output.
    """
    from ....app.compiler.scripts import runtime_of

    found = runtime_of(uses)
    if as_json:
        print_json(found)
    else:
        print_file(found.text)
    return 0
