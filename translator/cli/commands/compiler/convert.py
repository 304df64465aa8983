"""`paislurm convert`: a job file of protocol v1 as one of protocol v2."""

from __future__ import annotations

import click
from msgspec.structs import replace

from ....errors import Diagnostic, ProtocolError
from ...options import examples, json_option
from ...output.console import log, log_diagnostics, print_file, print_json


@click.command(
    epilog=examples(
        "paislurm convert job.json > job.yaml",
        "paislurm convert job.json -o job.yaml && paislurm plan job.yaml",
    )
)
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="FILE", help="Write the job file there instead of to standard output.")
@json_option
def command(file: str, output: str | None, *, as_json: bool) -> int:
    """Print a job file of protocol v1 (JSON) as one of protocol v2 (YAML).

    FILE is a job file, or - for standard input. What protocol v2 cannot say goes under `extras.slurm.v1`, and what
    has to change is a warning and a comment. The comments of FILE are not kept.
    """
    from pathlib import Path, PurePath

    from ....app.input.job_input import read_source, shown_name
    from ....app.output_file import write_output
    from ....convert import converted
    from ....protocol.overrides import is_v1
    from ....protocol.validate import validate
    from ....reading.document import path_of
    from ....reading.read import read

    name = shown_name(file)
    document = read(read_source(file), file=name)
    if not is_v1(document):
        location = document.location((), key=True)
        hint = "a file of protocol v2 needs no converting: `paislurm check` reads it as it is"
        raise ProtocolError(
            Diagnostic(code="E310", message="this is no job file of protocol v1", location=location, hint=hint)
        )
    checked = validate(document)
    text, changed = converted(checked.job, document.mapping(("extras",)), source=PurePath(name).name)
    warnings = [
        *checked.warnings,
        *(
            replace(diagnostic, location=document.location(path_of(diagnostic.path), key=True))
            for diagnostic in changed
        ),
    ]
    log_diagnostics(warnings)
    if output is not None:
        write_output(Path(output), text.encode())
    if as_json:
        diagnostics = [diagnostic.as_dict() for diagnostic in warnings]
        print_json({"job": checked.job.name, "file": output, "text": text, "diagnostics": diagnostics})
    elif output is None:
        print_file(text)
    else:
        log(f"wrote {output}")
    return 0
