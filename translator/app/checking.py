"""Check and plan job files, convert one of protocol v1 to protocol v2, and return the schemas of files."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ..errors import Diagnostic, PlanError, ProtocolError
from .input.job_input import check_source, compile_source, read_source, shown_name, site_of, text_of
from .paths import write_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..pipeline import Compiled
    from ..reading.document import Value
    from .input.source import Source
    from .session import Session


class CheckedFile(Struct, frozen=True, kw_only=True):
    """The result of checking one job file."""

    file: str
    """The name of the job file."""
    job: str | None
    """The name of the job; None for a file with errors."""
    exit_status: int
    """The exit code of `paislurm check` for this file; 0 if the job can be submitted."""
    diagnostics: tuple[Diagnostic, ...]
    """The errors, or the warnings of a file without errors."""


class CheckedJob(Struct, frozen=True, kw_only=True):
    """The result of checking the only given job file."""

    job: str
    """The name of the job."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings."""


class CheckedFiles(Struct, frozen=True, kw_only=True):
    """The results of checking several job files."""

    checked: tuple[CheckedFile, ...]
    """The job files."""


class Converted(Struct, frozen=True, kw_only=True):
    """A job file converted from protocol v1 to protocol v2."""

    job: str
    """The name of the job."""
    text: str
    """The job file."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings about changes in behaviour."""
    file: str | None
    """The written file; None if the text is only returned."""


class PlannedJob(NamedTuple):
    """A compiled job, and the bad nodes that it would avoid now."""

    compiled: Compiled
    avoided: tuple[str, ...]

    @property
    def text(self) -> str:
        """The plan, for a person."""
        from ..planning.plan_text import plan_text

        return plan_text(self.compiled.plan, self.avoided)

    @property
    def placement_text(self) -> str:
        """The nodes of the tasks, for a person."""
        from ..planning.placement.text import placement_text

        return placement_text(self.compiled.placement)


def planned(session: Session, source: Source) -> PlannedJob:
    """Compile a job file with the options of the shell's environment, and return the nodes to avoid too."""
    from .input.submit_host import with_shell_options
    from .submit.prepare import nodes_to_avoid

    _, compiled = compile_source(session, with_shell_options(session, source, site_of(session, source)))
    return PlannedJob(compiled, nodes_to_avoid(session, compiled, source.backend))


def check(session: Session, source: Source) -> CheckedJob:
    """Return the name and the warnings of a job file. Raises ProtocolError, SiteError and PlanError."""
    compiled, warnings = check_source(session, source)
    return CheckedJob(job=compiled.job.name, diagnostics=tuple(warnings))


def check_each(session: Session, sources: Iterable[Source]) -> Iterator[CheckedFile]:
    """Yield the result for each job file as soon as it is checked. Raises SiteError for a wrong site profile."""
    for source in sources:
        file = shown_name(source.file)
        try:
            checked = check(session, source)
        except (ProtocolError, PlanError) as error:
            yield CheckedFile(file=file, job=None, exit_status=error.exit_code, diagnostics=error.diagnostics)
        else:
            yield CheckedFile(file=file, job=checked.job, exit_status=0, diagnostics=checked.diagnostics)


def convert(source: Source, output: str | os.PathLike[str] | None = None) -> Converted:
    """Convert a job file of protocol v1 (JSON) to protocol v2 (YAML) without its comments; write it to `output`.

    Raises ProtocolError for a file with errors, and for a file of protocol v2.
    """
    from ..conversion import converted
    from ..protocol.overrides import is_v1
    from ..protocol.validate import validate
    from ..reading.document import path_of
    from ..reading.read import read

    name = shown_name(source.file)
    document = read(text_of(source), file=name)
    if not is_v1(document):
        location = document.location((), key=True)
        hint = "use a file of protocol v2 without conversion"
        raise ProtocolError(
            Diagnostic(code="E310", message="this is not a job file of protocol v1", location=location, hint=hint)
        )
    checked = validate(document)
    text, changed = converted(checked.job, document.mapping(("extras",)), source=PurePath(name).name)
    located = (replace(each, location=document.location(path_of(each.path), key=True)) for each in changed)
    if output is not None:
        write_output(Path(output), text.encode())
    file = None if output is None else os.fspath(output)
    return Converted(job=checked.job.name, text=text, diagnostics=(*checked.warnings, *located), file=file)


def declared_parameters(file: str) -> Mapping[str, Value]:
    """Return the parameters that a job file declares. Raises ProtocolError for a file that cannot be parsed."""
    from ..reading.read import read

    found = read(read_source(file), file=file).mapping(("parameters",))
    return {str(name): value for name, value in found.items()}


def schema_of(what: str) -> dict[str, Any]:
    """Return the JSON Schema of job files of protocol `v1` or `v2`, or of a `site` profile."""
    from ..validation.json_schema import json_schema

    if what == "v1":
        from ..protocol.v1.schema import JobFileV1

        return json_schema(JobFileV1, "OpenPAI job, protocol v1")
    if what == "site":
        from ..site.profile import Site

        return json_schema(Site, "Site profile of paislurm")
    from ..protocol.v2.schema import JobFile

    return json_schema(JobFile, "OpenPAI job, protocol v2")
