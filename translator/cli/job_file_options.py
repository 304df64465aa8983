"""Options and arguments of commands that compile a job file: they are handed it as a `Source`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from ..app.input.source import SLURM_OPTIONS, Source
from .shell.candidates import Assignment
from .shell.known_names import OfSite

if TYPE_CHECKING:
    from collections.abc import Callable


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
        from ..app.input.typed_options import typed_options

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
