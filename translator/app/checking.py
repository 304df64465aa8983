"""Check job files, and convert a job file of protocol v1 to protocol v2."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..errors import Diagnostic, PlanError, ProtocolError
from .input.job_input import check_source, shown_name, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


class ConvertedFile(Converted, frozen=True, kw_only=True):
    """A converted job file, and where it was written."""

    file: str | None
    """The written file; None if the text is printed."""


def check_each(session: Session, sources: Iterable[Source]) -> Iterator[CheckedFile]:
    """Yield the result for each job file as soon as it is checked. Raises SiteError for a wrong site profile."""
    for source in sources:
        file = shown_name(source.file)
        try:
            compiled, warnings = check_source(session, source)
        except (ProtocolError, PlanError) as error:
            yield CheckedFile(file=file, job=None, exit_status=error.exit_code, diagnostics=error.diagnostics)
        else:
            yield CheckedFile(file=file, job=compiled.job.name, exit_status=0, diagnostics=tuple(warnings))


def convert(source: Source) -> Converted:
    """Convert a job file of protocol v1 (JSON) to protocol v2 (YAML) without its comments.

    Raises ProtocolError for a file with errors, and for a file of protocol v2.
    """
    from ..convert import converted
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
    return Converted(job=checked.job.name, text=text, diagnostics=(*checked.warnings, *located))
