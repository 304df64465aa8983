"""`paislurm verify`: compare a script with what paislurm makes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from paislurm import __version__

from ....cli.job_file_options import optional_job_file
from ....terminal_text import escape_control
from ...options import examples, json_option, pass_session
from ...output.console import print_json, print_result
from ...shell.candidates import JobOrFile

if TYPE_CHECKING:
    from ....app.input.source import Source
    from ....app.session import Session
    from ....rendering.verify import Verdict


@click.command(
    epilog=examples(
        "paislurm verify job.sbatch",
        "paislurm verify job.sbatch job.yaml",
        "paislurm verify my-job",
        "paislurm script job.yaml | paislurm verify -",
    )
)
@click.argument("script", metavar="SCRIPT|JOB", type=JobOrFile())
@optional_job_file
@json_option
@pass_session
def command(session: Session, source: Source, script: str, *, as_json: bool) -> int:
    """Compare a script with what paislurm makes.

    SCRIPT is a file, or - for standard input; JOB is a job's name, user~name, or its Slurm id, and means its last
    script. The runtime must be that of this version, byte for byte. The head is as compiled or was edited: its digest
    shows accidents, not intent. With a job FILE the script is compared with what FILE compiles to, and the difference
    is printed. The exit code is 0 if the runtime is the released one and, with FILE, nothing differs; else 1.
    """
    from ....rendering.verify import head_difference, verify

    text = _text(session, script)
    verdict, difference = verify(text, __version__), ""
    if source.file:
        from ....app.input.job_input import compile_source

        _, compiled = compile_source(session, source)
        difference = head_difference(text, compiled.script, (script, f"compiled from {source.file}"))
    if as_json:
        print_json(_as_dict(verdict, difference, compared=bool(source.file)))
    else:
        print_result(escape_control(_report(verdict, difference, source.file)))
    return 0 if verdict.is_genuine and not difference else 1


def _text(session: Session, script: str) -> str:
    """Return the script that is meant, byte for byte."""
    from pathlib import Path

    from ....state.tidying.kept_script import read_script

    if script == "-":
        data = sys.stdin.buffer.read()
    else:
        path = Path(script)
        if path.is_file():
            data = path.read_bytes()
        else:
            folder = session.store.find(script, user=session.user)
            data = read_script(folder, folder.history().attempt)
    return data.decode(errors="surrogateescape")


def _as_dict(verdict: Verdict, difference: str, *, compared: bool) -> dict[str, object]:
    return {
        "genuine": verdict.is_genuine,
        "paislurm_version": verdict.version or None,
        "uses": list(verdict.uses),
        "edited": verdict.is_edited,
        "diagnostics": [{"line": line, "message": message} for line, message in verdict.faults],
        "difference": difference if compared else None,
    }


def _report(verdict: Verdict, difference: str, file: str) -> str:
    lines = [f"line {line}: {message}" for line, message in verdict.faults]
    if verdict.is_genuine:
        uses = f", with {', '.join(verdict.uses)}" if verdict.uses else ""
        lines.append(f"runtime: paislurm {verdict.version}{uses}, as released")
        lines.append("head: edited since it was compiled" if verdict.is_edited else "head: as compiled")
    if file:
        lines.append(f"head: differs from what {file} compiles to" if difference else f"head: what {file} compiles to")
    return "\n".join([*lines, *difference.splitlines()])
