"""Options and arguments that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def _remember_json(context: click.Context, _: click.Parameter, value: bool) -> bool:
    if value and context.obj is not None:
        context.obj.json = True
    return value


def _pairs(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    for value in values:
        if not value.partition("=")[0] or "=" not in value:
            raise click.BadParameter(f"expected NAME=VALUE, found '{value}'")
    return tuple((name, text) for name, _, text in (value.partition("=") for value in values))


def json_option(command: F) -> F:
    """Add `--json`."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        is_eager=True,
        callback=_remember_json,
        help="Print one JSON document.",
    )(command)


def job_file(command: F) -> F:
    """Add the job file, and what changes its meaning."""
    command = click.option(
        "--secrets",
        metavar="FILE",
        help="Secrets of the job, a YAML mapping in a file of mode 0600 or 0400; they go before the job file's own.",
    )(command)
    command = click.option("--suffix", default="", metavar="TEXT", help="Append TEXT to the job's name.")(command)
    command = click.option(
        "--set",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_pairs,
        help="Give a parameter of the job file another value; can be repeated.",
    )(command)
    command = click.option(
        "--site",
        metavar="FILE",
        help="The site profile. Default: $PAISLURM_SITE, ~/.config/paislurm/site.yaml, /etc/paislurm/site.yaml.",
    )(command)
    return click.argument("file", metavar="FILE")(command)


def job_argument(command: F) -> F:
    """Add the job that is meant."""
    return click.argument("job", metavar="JOB")(command)


def examples(*lines: str) -> str:
    """Return the end of a command's help: lines that can be copied, which click does not fill."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
