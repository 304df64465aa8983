"""`paislurm runtime`: the part of scripts that is the same in every job."""

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
    """Print the runtime that scripts of this version have behind their seal, for an administrator to read once.

    USE is a part that only some jobs use, as the seal of a script names it, such as `registry`; an unknown name prints
    the list. Without one, the parts that every script has are printed. `sha256sum` of what is printed is in the seal.
    """
    from ....app.compiler.scripts import runtime_of

    found = runtime_of(uses)
    if as_json:
        print_json(found)
    else:
        print_file(found.text)
    return 0
