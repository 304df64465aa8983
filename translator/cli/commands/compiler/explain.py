"""`paislurm explain`: the origin of each line of a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from ....cli.job_file_options import job_file
from ...options import examples, json_option, pass_session
from ...output.console import log, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....app.input.source import Source
    from ....app.session import Session
    from ....rendering.provenance import Origin

MAX_DIGITS = 9
MAX_WIDTH = 70
"""Characters of a script's line that are shown."""


@click.command(
    epilog=examples(
        "paislurm explain job.yaml",
        "paislurm explain job.yaml:12",
    )
)
@job_file
@json_option
@pass_session
def command(session: Session, source: Source, *, as_json: bool) -> int:
    """Show the origin of the script's lines: lines of the job file, or rules.

    FILE is a job file, or - for standard input; FILE:LINE shows only the lines that come from LINE.
    """
    from ....app.compiler.scripts import ExplainedScript, explain
    from ...output.tables import print_table

    name, line = _split(source.file)
    found = explain(session, replace(source, file=name), line)
    if as_json:
        print_json(ExplainedScript(lines=tuple(found)))
    elif found:
        print_table(("SCRIPT", "JOB FILE", "LINE", "RULE"), [_row(origin) for origin in found])
    else:
        log(f"nothing in the script comes from line {line} of {name}")
    return 0


def _split(file: str) -> tuple[str, int | None]:
    """Split `FILE:LINE` into the file and the line."""
    from pathlib import Path

    name, colon, line = file.rpartition(":")
    if not colon or Path(file).exists() or not (line.isdecimal() or Path(name).is_file()):
        return file, None
    if line.isdecimal() or not line:
        return name, int(line[:MAX_DIGITS] or 0)
    raise click.UsageError(f"{name} has no line {line!r}")


def _row(origin: Origin) -> tuple[str, str, str, str]:
    text = origin.text if len(origin.text) <= MAX_WIDTH else origin.text[: MAX_WIDTH - 3] + "..."
    return str(origin.line), _ranges(origin.job_lines), text, origin.rule or ""


def _ranges(numbers: Sequence[int]) -> str:
    """Return line numbers as ranges: `3, 7-9`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)
