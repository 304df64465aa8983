"""`paislurm verify`: compare a script with paislurm's output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....cli.job_file_options import optional_job_file
from ....terminal_text import escape_control
from ...options import examples, json_option, pass_session
from ...output.console import print_file, print_json, print_result
from ...shell import candidates

if TYPE_CHECKING:
    from paislurm import Verified

    from ....app.input.source import Source
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm verify job.sbatch",
        "paislurm verify job.sbatch job.yaml",
        "paislurm verify my-job",
        "paislurm script job.yaml | paislurm verify -",
        "paislurm verify --runtime charliecloud,registry",
    )
)
@click.argument("script", metavar="[SCRIPT|JOB]", required=False, shell_complete=candidates.jobs_and_files)
@optional_job_file
@click.option(
    "--runtime",
    "uses",
    is_flag=False,
    flag_value="",
    metavar="[USE,...]",
    help="Print this version's runtime for an administrator to read once, with the parts that a seal names.",
)
@json_option
@pass_session
def command(session: Session, source: Source, script: str | None, *, uses: str | None, as_json: bool) -> int:
    """Compare a script with paislurm's output.

    SCRIPT is a file, or - for standard input; JOB is a job's name, user~name, or its Slurm id, and selects its last
    script. The runtime must be that of this version, byte for byte. The digest shows whether the head was edited by
    accident; it does not protect against intent. With a job FILE, the script is compared with the compiled FILE, and
    the difference is printed. The exit code is 0 if the runtime is the released one and, with FILE, nothing differs;
    else 1.

    --runtime without USE prints the parts that every script contains; an unknown USE prints the list. The seal contains
    the `sha256sum` of this output.
    """
    if uses is not None:
        found_runtime = session.compiler.runtime(*uses.replace(",", " ").split())
        print_json(found_runtime) if as_json else print_file(found_runtime.text)
        return 0
    if script is None:
        raise click.UsageError("Missing argument 'SCRIPT|JOB'.")
    found = session.compiler.verify(script, source if source.file else None)
    if as_json:
        print_json(found)
    else:
        print_result(escape_control(_report(found, source.file)))
    return 0 if found.genuine and not found.difference else 1


def _report(found: Verified, file: str) -> str:
    lines = [f"line {each.line}: {each.message}" for each in found.diagnostics]
    if found.genuine:
        uses = f", with {', '.join(found.uses)}" if found.uses else ""
        lines.append(f"runtime: paislurm {found.paislurm_version}{uses}, as released")
        lines.append("head: edited since it was compiled" if found.edited else "head: as compiled")
    if found.difference is not None:
        what = f"differs from what {file} compiles to" if found.difference else f"what {file} compiles to"
        lines.append(f"head: {what}")
    return "\n".join([*lines, *(found.difference or "").splitlines()])
