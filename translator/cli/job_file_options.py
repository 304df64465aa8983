"""Options and arguments of commands that compile a job file. The command gets them as a `Source`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from ..app.input.source import SLURM_OPTIONS, Source
from .shell import candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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
        shell_complete=candidates.assignments,
        callback=_pairs,
        help="Set a parameter of the job file; can be repeated.",
    ),
    click.option("--suffix", default="", metavar="TEXT", help="Append TEXT to the job's name."),
    click.option(
        "--secrets",
        metavar="FILE",
        type=click.Path(),
        help="Secrets of the job: a YAML mapping in a file of mode 0600 or 0400. They override those of the job file.",
    ),
)
_SLURM_ARGUMENTS = (
    click.option("--time", metavar="LIMIT", help="The job's time limit: minutes, HH:MM:SS or D-HH:MM:SS."),
    click.option(
        "--partition", metavar="NAME", shell_complete=candidates.partitions, help="The partition for all task roles."
    ),
    click.option("--account", metavar="NAME", shell_complete=candidates.accounts, help="The account that is charged."),
    click.option("--qos", metavar="NAME", shell_complete=candidates.qos, help="The quality of service."),
)


def job_file(command: Callable[..., int]) -> Callable[..., int]:
    """Add the job file and its options; the command gets a `Source`."""
    return click.argument("file", metavar="FILE", type=click.Path())(_with_source(command))


class CodeCommand(click.Command):
    """A command whose argument can be a negative exit code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take negative numbers as arguments, not as options."""
        numbers = [word for word in args if word[:1] == "-" and word[1:].isdecimal()]
        if numbers and "--" not in args:
            args = [*(word for word in args if word not in numbers), "--", *numbers]
        return super().parse_args(ctx, args)


def job_file_or_code(command: Callable[..., int]) -> Callable[..., int]:
    """Add the job file and its options; an exit code can be in the place of the file."""
    return click.argument("file", metavar="FILE|CODE", shell_complete=candidates.codes_and_files)(_with_source(command))


def job_files(command: Callable[..., int]) -> Callable[..., int]:
    """Add one or more job files and their options; the command gets a `Source` for each file."""

    def with_sources(source: Source, *, files: tuple[str, ...], **others: Any) -> int:
        return command([replace(source, file=file) for file in files], **others)

    return click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())(
        _with_source(wraps(command)(with_sources))
    )


def optional_job_file(command: Callable[..., int]) -> Callable[..., int]:
    """Add an optional job file and its options; without a job file, `Source.file` is ""."""
    return click.argument("file", metavar="[FILE]", default="", type=click.Path())(_with_source(command))


def slurm_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options for keys of `extras.slurm`; the command gets the given ones as `slurm`."""

    @wraps(command)
    def with_slurm(**others: Any) -> int:
        given = {name: others.pop(name) for name in SLURM_OPTIONS}
        return command(**others, slurm={name: value for name, value in given.items() if value is not None})

    for add in reversed(_SLURM_ARGUMENTS):
        with_slurm = add(with_slurm)
    return with_slurm


def _with_source(command: Callable[..., int]) -> Callable[..., int]:
    @wraps(command)
    def with_source(
        *,
        file: str = "",
        site: str | None,
        parameters: tuple[tuple[str, str], ...],
        suffix: str,
        secrets: str | None,
        slurm: Mapping[str, str],
        **others: Any,
    ) -> int:
        source = Source(
            file=file,
            site=site,
            parameters=parameters,
            suffix=suffix,
            secrets=secrets,
            slurm=tuple(slurm.items()),
        ).typed_by()
        return command(source, **others)

    decorated = slurm_options(with_source)
    for add in reversed(_OPTIONS):
        decorated = add(decorated)
    return decorated
