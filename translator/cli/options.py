"""Options and arguments that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from .shell.candidates import Job, JobOrGroup

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..monitor.job_status import State

STATES: tuple[State, ...] = ("WAITING", "RUNNING", "STOPPING", "SUCCEEDED", "FAILED", "STOPPED")
"""In the order in which tables have them."""
F = TypeVar("F", bound="Callable[..., Any]")


def _remember_json(context: click.Context, _: click.Parameter, value: bool) -> bool:
    if context.obj is not None:
        context.obj.json = value
    return value


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


def job_argument(command: F) -> F:
    """Add the job that is meant."""
    return click.argument("job", metavar="JOB", type=Job())(command)


def jobs_arguments(command: F) -> F:
    """Add the jobs that are meant, any number of them, and `--last`; `select` says which they are."""
    last = click.option("--last", is_flag=True, help="The job that you submitted last, as without any JOB.")
    return click.argument("jobs", metavar="[JOB]...", nargs=-1, type=JobOrGroup())(last(command))


def examples(*lines: str) -> str:
    """Return the end of a command's help: lines that can be copied, which click does not fill."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
