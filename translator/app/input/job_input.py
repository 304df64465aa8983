"""Job files from the command line to the compiler: read, compile, and say what the compiler warns of."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import Diagnostic, Location, PlanError, ProtocolError, Severity
from ..ownership import OTHERS_WRITE
from .source import STDIN, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...job import Job
    from ...pipeline import Compiled
    from ...reading.document import Value
    from ...site.profile import Site
    from ..session import Session


def compile_source(
    session: Session,
    source: Source,
    version: Callable[[str], str] | None = None,
    site: Site | None = None,
    *,
    quiet: bool = False,
) -> tuple[bytes, Compiled]:
    """Read and compile a job file, and return its text and what was made of it; say warnings and hints unless `quiet`.

    `version` is asked for the version of the backend's Slurm where the profile does not say it, and `site` is taken
    for what the profile says. Without them nothing but the job file and the profile decides what comes out.
    """
    from ...pipeline import compile_job
    from .sites import hint_at_profile
    from .typed_options import options_named

    text = read_source(source.file) if source.text is None else source.text
    site = site or site_of(session, source)
    if version and not site.slurm_version:
        site = site.model_copy(update={"slurm_version": version(source.backend)})
    secrets = _secrets_of(source)
    try:
        with options_named(source.typed):
            compiled = compile_job(
                text,
                file=shown_name(source.file),
                site=site,
                parameters=dict(source.parameters),
                suffix=source.suffix,
                secrets=secrets,
                slurm=dict(source.slurm),
                templates=template_folder(),
            )
    except PlanError:
        if not quiet:
            hint_at_profile(session, site)
        raise
    if not quiet:
        hint_at_profile(session, site)
        session.warn(compiled.warnings)
    return text, compiled


def load_source(session: Session, source: Source) -> Job:
    """Return what a job file means, whether the site can run it or not."""
    from ...pipeline import load_job
    from .typed_options import options_named

    text = read_source(source.file) if source.text is None else source.text
    with options_named(source.typed):
        return load_job(
            text,
            file=shown_name(source.file),
            site=site_of(session, source),
            parameters=dict(source.parameters),
            suffix=source.suffix,
            secrets=_secrets_of(source),
            slurm=dict(source.slurm),
        )


def _secrets_of(source: Source) -> Mapping[str, Value]:
    if not source.secrets:
        return {}
    from .secret_file import read_secrets

    return read_secrets(source.secrets)


def check_source(session: Session, source: Source, *, quiet: bool = False) -> tuple[Compiled, list[Diagnostic]]:
    """Compile a job file and have bash read its commands; return what was made of it, and all that it is warned of.

    Raises `ProtocolError` also for what bash cannot read, and for a codeDir that is too large; says warnings unless
    `quiet`.
    """
    from ...reading.read import read
    from .bash_syntax import bash_syntax_errors, raw_syntax_errors
    from .code_size import code_size_errors

    text = read_source(source.file) if source.text is None else source.text
    source = replace(source, text=text)
    try:
        _, compiled = compile_source(session, source, quiet=quiet)
    except (PlanError, ProtocolError) as error:
        found: list[Diagnostic] = []
        # A file without structure has no commands.
        with suppress(ProtocolError):
            found = raw_syntax_errors(read(text, file=shown_name(source.file)))
        if not quiet:
            session.warn(error.warnings)
        raise type(error)(dict.fromkeys([*error.diagnostics, *found])) from None
    found = bash_syntax_errors(compiled.job, compiled.document) + code_size_errors(compiled, session.user)
    if any(diagnostic.severity is Severity.ERROR for diagnostic in found):
        raise ProtocolError(found)
    if not quiet:
        session.warn(found)
    return compiled, [*compiled.warnings, *found]


def site_of(session: Session, source: Source) -> Site:
    """Return the site that a job is for: the local backend has its own, unless one is named for it."""
    from ...site.profile import local_site
    from .sites import find_site

    if source.backend == "local" and source.site is None:
        return local_site()
    return find_site(session, source.site, host=source.host)


def read_source(file: str) -> bytes:
    """Return the text of a job file; ProtocolError if it cannot be read."""
    from pathlib import Path

    from ...reading.decode import MAX_FILE
    from .near_files import hint_at_files
    from .sites import read_at_most

    try:
        return sys.stdin.buffer.read(MAX_FILE + 1) if file == STDIN else read_at_most(Path(file))
    except OSError as error:
        message = f"the job file cannot be read: {error.strerror or error}"
        location, hint = Location(file=shown_name(file)), hint_at_files(file, error)
        raise ProtocolError(Diagnostic(code="E100", message=message, location=location, hint=hint)) from None


def shown_name(file: str) -> str:
    """Return what messages call a job file."""
    return "<stdin>" if file == STDIN else file


def template_folder() -> Path | None:
    """Return the folder for compiled templates, made if it is missing; None where there is none of the user's alone."""
    folder = _user_cache()
    return None if folder is None else Path(folder)


def _user_cache() -> str | None:
    """Return the user's cache folder for this program, made if it is missing; None where it is not the user's alone.

    What is kept there is code. The folder above must be the user's too: its owner could put another one in place. That
    is so where root works with the home of somebody else.
    """
    above = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")  # noqa: PTH111
    if not os.path.isabs(above):  # noqa: PTH117
        return None
    folder = f"{above}/paislurm"
    for each in (above, folder):
        with suppress(OSError):
            if not os.path.exists(each) and _is_own(os.path.dirname(each)):  # noqa: PTH110, PTH120
                os.mkdir(each, 0o700)  # noqa: PTH102
    return folder if _is_own(above) and _is_own(folder) else None


def _is_own(folder: str) -> bool:
    """Tell whether a folder is the caller's, and nobody else can write to it."""
    try:
        status = os.stat(folder)  # noqa: PTH116
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not status.st_mode & OTHERS_WRITE
