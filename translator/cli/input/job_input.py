"""Job files from the command line to the compiler: read, compile, and say what the compiler warns of."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from ...errors import Diagnostic, Location, PlanError, ProtocolError, Severity
from ...lazy import dataclass
from ..output.console import log_diagnostics
from ..shell.candidates import Assignment
from ..shell.known_names import OfSite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...job import Job
    from ...pipeline import Compiled
    from ...reading.document import Value
    from ...site.profile import Site

STDIN = "-"


@dataclass(frozen=True, kw_only=True)
class Source:
    """Say what to compile: a job file (`-` is standard input), for which site, with what changed.

    `text` is what the job file is taken to hold, None to read it; `submit_folder` is where the job is submitted from,
    "" for the current folder. `typed` has the options that messages name, by the paths of what they take the place of.
    """

    file: str
    site: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    suffix: str = ""
    secrets: str | None = None
    slurm: tuple[tuple[str, str], ...] = ()
    backend: str = "slurm"
    host: str | None = None
    text: bytes | None = field(default=None, repr=False)
    submit_folder: str = ""
    typed: Mapping[str, str] = field(default_factory=dict)


def _pairs(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    for value in values:
        if not value.partition("=")[0] or "=" not in value:
            raise click.BadParameter(f"expected NAME=VALUE, found '{value}'")
    return tuple((name, text) for name, _, text in (value.partition("=") for value in values))


_OPTIONS = (
    click.option(
        "--site",
        metavar="FILE",
        type=click.Path(),
        help="The site profile. Default: $PAISLURM_SITE, ~/.config/paislurm/site.yaml, /etc/paislurm/site.yaml.",
    ),
    click.option(
        "--set",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        type=Assignment(),
        callback=_pairs,
        help="Give a parameter of the job file another value; can be repeated.",
    ),
    click.option("--suffix", default="", metavar="TEXT", help="Append TEXT to the job's name."),
    click.option(
        "--secrets",
        metavar="FILE",
        type=click.Path(),
        help="Secrets of the job, a YAML mapping in a file of mode 0600 or 0400; they go before the job file's own.",
    ),
)
SLURM_OPTIONS = ("time", "partition", "account", "qos")
"""Keys of `extras.slurm` that are options of the command line, too, which go before the job file and the profile."""
_SLURM_ARGUMENTS = (
    click.option("--time", metavar="LIMIT", help="The job's time limit: minutes, HH:MM:SS or D-HH:MM:SS."),
    click.option("--partition", metavar="NAME", type=OfSite("partition"), help="The partition, of all task roles."),
    click.option("--account", metavar="NAME", type=OfSite("account"), help="The account that is charged."),
    click.option("--qos", metavar="NAME", type=OfSite("qos"), help="The quality of service."),
)


def job_file(command: Callable[..., int]) -> Callable[..., int]:
    """Add the job file, and what changes its meaning; the command is handed all of it as its `Source`."""
    return click.argument("file", metavar="FILE", type=click.Path())(_with_source(command))


def job_files(command: Callable[..., int]) -> Callable[..., int]:
    """Add one job file or several, and what changes their meaning; the command is handed a `Source` for each."""

    def with_sources(source: Source, *, files: tuple[str, ...], **others: Any) -> int:
        return command([replace(source, file=file) for file in files], **others)

    return click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())(
        _with_source(wraps(command)(with_sources))
    )


def optional_job_file(command: Callable[..., int]) -> Callable[..., int]:
    """Do the same where a command has another way to name the job: without a job file, `file` is ""."""
    return click.argument("file", metavar="[FILE]", default="", type=click.Path())(_with_source(command))


def slurm_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that stand for keys of `extras.slurm`, for a command that takes no job file."""
    for add in reversed(_SLURM_ARGUMENTS):
        command = add(command)
    return command


def _with_source(command: Callable[..., int]) -> Callable[..., int]:
    @wraps(command)
    def with_source(
        *,
        file: str = "",
        site: str | None,
        parameters: tuple[tuple[str, str], ...],
        suffix: str,
        secrets: str | None,
        **others: Any,
    ) -> int:
        given = {name: others.pop(name) for name in SLURM_OPTIONS}
        slurm = tuple((name, value) for name, value in given.items() if value is not None)
        from .typed_options import typed_options

        source = Source(
            file=file,
            site=site,
            parameters=parameters,
            suffix=suffix,
            secrets=secrets,
            slurm=slurm,
            typed=typed_options(parameters, slurm, suffix),
        )
        return command(source, **others)

    for add in reversed((*_OPTIONS, *_SLURM_ARGUMENTS)):
        with_source = add(with_source)
    return with_source


def compile_source(
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
    from .template_folder import template_folder
    from .typed_options import options_named

    text = read_source(source.file) if source.text is None else source.text
    site = site or site_of(source)
    if version and not site.slurm_version:
        site = replace(site, slurm_version=version(source.backend))
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
            hint_at_profile(site)
        raise
    if not quiet:
        hint_at_profile(site)
        log_diagnostics(compiled.warnings)
    return text, compiled


def load_source(source: Source) -> Job:
    """Return what a job file means, whether the site can run it or not."""
    from ...pipeline import load_job
    from .typed_options import options_named

    text = read_source(source.file) if source.text is None else source.text
    with options_named(source.typed):
        return load_job(
            text,
            file=shown_name(source.file),
            site=site_of(source),
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


def check_source(source: Source, *, quiet: bool = False) -> tuple[Compiled, list[Diagnostic]]:
    """Compile a job file and have bash read its commands; return what was made of it, and all that it is warned of.

    Raises `ProtocolError` also for what bash cannot read, and for a codeDir that is too large; says warnings unless
    `quiet`.
    """
    from ...reading.read import read
    from ..ownership import user_name
    from .bash_syntax import bash_syntax_errors, raw_syntax_errors
    from .code_size import code_size_errors

    text = read_source(source.file) if source.text is None else source.text
    source = replace(source, text=text)
    try:
        _, compiled = compile_source(source, quiet=quiet)
    except (PlanError, ProtocolError) as error:
        found: list[Diagnostic] = []
        # A file without structure has no commands.
        with suppress(ProtocolError):
            found = raw_syntax_errors(read(text, file=shown_name(source.file)))
        if not quiet:
            log_diagnostics(error.warnings)
        raise type(error)(dict.fromkeys([*error.diagnostics, *found])) from None
    found = bash_syntax_errors(compiled.job, compiled.document) + code_size_errors(compiled, user_name())
    if any(diagnostic.severity is Severity.ERROR for diagnostic in found):
        raise ProtocolError(found)
    if not quiet:
        log_diagnostics(found)
    return compiled, [*compiled.warnings, *found]


def site_of(source: Source) -> Site:
    """Return the site that a job is for: the local backend has its own, unless one is named for it."""
    from .sites import find_site, local_site

    if source.backend == "local" and source.site is None:
        return local_site()
    return find_site(source.site, host=source.host)


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
