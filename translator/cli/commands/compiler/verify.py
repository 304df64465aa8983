"""`paislurm verify`: is a script what paislurm makes."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from paislurm import __version__

from ...options import examples, json_option
from ...output.console import escape_control, print_json, print_result
from ...shell.candidates import JobOrFile

if TYPE_CHECKING:
    from ....rendering.head_reading import Passage
    from ....rendering.verify import Verdict


@click.command(
    epilog=examples(
        "paislurm verify job.sbatch",
        "paislurm verify my-job",
        "paislurm script job.yaml | paislurm verify -",
    )
)
@click.argument("script", metavar="FILE|JOB", type=JobOrFile())
@json_option
def command(script: str, *, as_json: bool) -> int:
    """Tell whether a script is what paislurm makes, and what in it is left for a person to read.

    FILE is a script, or - for standard input; JOB is a job's name, user~name, or its Slurm id, whose last script is
    meant. The runtime must be that of this version, byte for byte, and the head must have the form that the compiler
    writes. A head that was edited is told, and allowed. The exit code is 0 if both hold, else 1.
    """
    from ....rendering.verify import verify

    verdict = verify(_text(script), __version__)
    if as_json:
        print_json(_as_dict(verdict))
    else:
        print_result(escape_control(_report(verdict)))
    return 0 if verdict.is_genuine else 1


def _text(script: str) -> str:
    """Return the script that is meant, as it stands there."""
    from pathlib import Path

    from ....state.tidying.kept_script import read_script
    from ...context import store, user_name

    if script == "-":
        data = sys.stdin.buffer.read()
    else:
        path = Path(script)
        if path.is_file():
            data = path.read_bytes()
        else:
            folder = store().find(script, user=user_name())
            data = read_script(folder, folder.history().attempt)
    return data.decode(errors="surrogateescape")


def _as_dict(verdict: Verdict) -> dict[str, object]:
    return {
        "genuine": verdict.is_genuine,
        "paislurm_version": verdict.version or None,
        "uses": list(verdict.uses),
        "edited": verdict.edited,
        "diagnostics": [{"line": line, "message": message} for line, message in verdict.diagnostics],
        "to_read": [asdict(passage) for passage in verdict.to_read],
    }


def _report(verdict: Verdict) -> str:
    lines = [f"line {line}: {message}" for line, message in verdict.diagnostics]
    if verdict.is_genuine:
        uses = f", with {', '.join(verdict.uses)}" if verdict.uses else ""
        lines.append(f"runtime: paislurm {verdict.version}{uses}, as released")
        lines.append(
            "head: edited since it was compiled, of the right form; its digest does not tell where"
            if verdict.edited
            else "head: as compiled"
        )
    lines += [f"read {_place(each)}: {each.what}" for each in verdict.to_read]
    return "\n".join(lines)


def _place(passage: Passage) -> str:
    if passage.first == passage.last:
        return f"line {passage.first}"
    return f"lines {passage.first} to {passage.last}"
