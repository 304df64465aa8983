"""Read, check and compile the job file of a source; errors about values of options name the option."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from paislurm.backends.base import LOCAL

from ...errors import Diagnostic, Location, PlanError, ProtocolError, Severity
from ...files.private import is_private, make_private, replaceable
from .source import STDIN, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ...pipeline import Compiled
    from ...reading.document import Value
    from ...site.profile import Site
    from ..session import Session

MAX_FILE_NAME = 255
"""Bytes of a file name. Source: pathconf(3), NAME_MAX of Linux's file systems."""


def compile_source(
    session: Session,
    source: Source,
    version: Callable[[str], str] | None = None,
    site: Site | None = None,
    *,
    quiet: bool = False,
) -> tuple[bytes, Compiled]:
    """Read and compile a job file, and return its text and the result; send warnings and hints unless `quiet`.

    `version` returns the version of the backend's Slurm if the profile does not contain it; `site` replaces the
    profile. Without them, the result depends only on the job file and the profile.
    """
    from ...pipeline import compile_job
    from ..sites.find import hint_at_profile

    text = text_of(source)
    site = site or site_of(session, source)
    if version and not site.slurm_version:
        site = site.model_copy(update={"slurm_version": version(source.backend)})
    arguments = arguments_of(source)
    try:
        with options_named(source.typed):
            compiled = compile_job(
                text,
                site=site,
                most_tasks=source.most_tasks,
                templates=template_folder(session),
                **arguments,
            )
    except PlanError:
        if not quiet:
            hint_at_profile(session, site)
        raise
    if not quiet:
        session.warn(compiled.warnings)
    return text, compiled


def arguments_of(source: Source) -> dict[str, Any]:
    """Return the arguments of the compiler that are the same for each of its calls. Raises ProtocolError."""
    secrets: Mapping[str, Value] = {}
    if source.secrets:
        from .secret_files import read_secrets

        secrets = read_secrets(source.secrets)
    return {
        "file": source.name,
        "parameters": dict(source.parameters),
        "suffix": source.suffix,
        "secrets": secrets,
        "slurm": dict(source.slurm),
    }


def name_errors(session: Session, compiled: Compiled) -> list[Diagnostic]:
    """Return the error if a name is too long for a folder with the user's name before it."""
    name, most = compiled.job.name, MAX_FILE_NAME - len(f"{session.user}~".encode())
    if len(name) <= most:
        return []
    message = f"the name has {len(name)} characters; folders of {session.user}'s jobs have room for {most}"
    return [Diagnostic(code="E204", message=message, hint="give the job a shorter name")]


def check_source(session: Session, source: Source) -> tuple[Compiled, list[Diagnostic]]:
    """Compile a job file and check the syntax of its commands with bash; return the result and all warnings.

    Raises ProtocolError also for syntax errors of bash, and for a too large codeDir. Sends warnings.
    """
    from ...reading.read import read
    from .local_checks import bash_syntax_errors, code_size_errors, raw_syntax_errors

    text = text_of(source)
    source = replace(source, text=text)
    try:
        _, compiled = compile_source(session, source)
    except (PlanError, ProtocolError) as error:
        found: list[Diagnostic] = []
        # An unparsable file has no commands.
        with suppress(ProtocolError):
            found = raw_syntax_errors(read(text, file=shown_name(source.file)), session.environment)
        session.warn(error.warnings)
        raise type(error)(dict.fromkeys([*error.diagnostics, *found])) from None
    found = bash_syntax_errors(compiled.job, compiled.document, session.environment)
    found += [*code_size_errors(compiled, session), *name_errors(session, compiled)]
    if any(diagnostic.severity is Severity.ERROR for diagnostic in found):
        raise ProtocolError(found)
    session.warn(found)
    return compiled, [*compiled.warnings, *found]


def site_of(session: Session, source: Source) -> Site:
    """Return the site of a job. The local backend has a built-in one, unless the user names a profile."""
    from ...site.profile import local_site
    from ..sites.find import find_site

    if source.backend == LOCAL and source.site is None:
        return local_site()
    return find_site(session, source.site, host=source.host)


def text_of(source: Source) -> bytes:
    """Return the text of a source, reading the file if needed. Raises ProtocolError."""
    return read_source(source.file) if source.text is None else source.text


def read_source(file: str) -> bytes:
    """Return the text of a job file. Raises ProtocolError if it cannot be read."""
    from ...reading.decode import MAX_FILE
    from ..paths import hint_at_files
    from ..sites.find import read_at_most

    try:
        return sys.stdin.buffer.read(MAX_FILE + 1) if file == STDIN else read_at_most(Path(file))
    except OSError as error:
        message = f"cannot read the job file: {error.strerror or error}"
        location, hint = Location(file=shown_name(file)), hint_at_files(file, error)
        raise ProtocolError(Diagnostic(code="E100", message=message, location=location, hint=hint)) from None


def shown_name(file: str) -> str:
    """Return the name of a job file in messages."""
    return "<stdin>" if file == STDIN else file


def template_folder(session: Session) -> Path | None:
    """Return the user's folder for compiled templates, creating it if missing; None if it is not private.

    The cache contains code, so nobody else may be able to replace it, or a folder above it. The folder above belongs to
    another user if root works with that user's home.
    """
    above = Path((session.setting("XDG_CACHE_HOME") or "").strip() or session.expanded("~/.cache"))
    if not above.is_absolute():
        return None
    folder = above / "paislurm"
    with suppress(OSError):
        if any(replaceable([folder])) or (above.exists() and not is_private([above])):
            return None
        if above.parent.is_dir():
            make_private(folder)
    return folder if is_private([above, folder]) else None


_IN_THE_FILE = re.compile(r"write `(\w+): ([^`]*)` under extras\.slurm")
_OTHER_KEYS = re.compile(r"another `(\w+)` or `(\w+)` under extras\.slurm")


@contextmanager
def options_named(typed: Mapping[str, str]) -> Iterator[None]:
    """Rewrite errors in the context to name options; `typed` contains them by the paths of the replaced values."""
    try:
        yield
    except (ProtocolError, PlanError) as error:
        error.diagnostics = with_options(error.diagnostics, typed)
        raise


def with_options(diagnostics: Iterable[Diagnostic], typed: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Rewrite diagnostics about values of options; others are unchanged."""
    return tuple(_named(each, typed.get(each.path, "")) for each in diagnostics)


def _named(diagnostic: Diagnostic, option: str) -> Diagnostic:
    if not option or diagnostic.location is not None:
        return diagnostic
    hint = _OTHER_KEYS.sub(r"another `--\1` or `--\2`", _IN_THE_FILE.sub(r"write `--\1 \2`", diagnostic.hint))
    return replace(diagnostic, message=f"{option}: {diagnostic.message}", path="", hint=hint)
