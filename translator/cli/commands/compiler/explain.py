"""`paislurm explain`: which lines of the script come from which lines of the job file, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec import to_builtins
from msgspec.structs import replace

from ....cli.job_file_options import job_file
from ....plural import counted
from ...options import examples, json_option, pass_session
from ...output.console import log, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....app.input.source import Source
    from ....app.session import Session
    from ....rendering.provenance import Origin

MAX_WIDTH = 70
"""Characters of a line of the script that are shown, enough to know it by."""


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
    """Say where the lines of the script come from: lines of the job file, or rules.

    FILE is a job file, or - for standard input; FILE:LINE asks about one line of it.
    """
    from ....app.input.job_input import compile_source, read_source, shown_name
    from ....rendering.provenance import origins
    from ...output.tables import print_table

    name, line = _split(source.file)
    text = read_source(name)
    if line:
        _check_line(name, line, text)
    _, compiled = compile_source(session, replace(source, file=name, text=text))
    found = origins(compiled.plan, compiled.document)
    if line:
        found = [origin for origin in found if int(line) in origin.job_lines]
    if as_json:
        print_json({"lines": [to_builtins(origin) for origin in found]})
    elif found:
        print_table(("SCRIPT", "JOB FILE", "LINE", "RULE"), [_row(origin) for origin in found])
    else:
        log(f"nothing in the script comes from line {line} of {shown_name(name)}")
    return 0


def _split(file: str) -> tuple[str, str]:
    """Return the file, and the line that is asked about, "" for none."""
    from pathlib import Path

    name, colon, line = file.rpartition(":")
    if not colon or Path(file).exists() or not (line.isdecimal() or Path(name).is_file()):
        return file, ""
    return name, line or "0"


def _check_line(name: str, line: str, text: bytes) -> None:
    """Raise `UsageError` for what is no line of the file."""
    from ....app.input.job_input import shown_name
    from ....reading.decode import lines_of

    lines = lines_of(text.decode("utf-8", "replace"))
    count = len(lines) - (not lines[-1])
    if not line.isdecimal() or not 1 <= int(line[:9]) <= count:
        raise click.UsageError(f"{line!r} is no line of {shown_name(name)}, which has {counted(count, 'line')}")


def _row(origin: Origin) -> tuple[str, str, str, str]:
    text = origin.text if len(origin.text) <= MAX_WIDTH else origin.text[: MAX_WIDTH - 3] + "..."
    return str(origin.line), _ranges(origin.job_lines), text, origin.rule


def _ranges(numbers: Sequence[int]) -> str:
    """Return line numbers in short: `3, 7-9`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)
