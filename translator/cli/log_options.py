"""Options that select logs. The command gets them as a `LogSelection`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from .options import WholeNumber, since_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..app.jobs.logs.selection import LogSelection, Stream


def _attempt(_: click.Context, __: click.Parameter, value: str | None) -> int | str | None:
    if value is None or value == "all":
        return value
    if not value.isascii() or not value.isdecimal() or len(value) > 9 or not int(value):
        raise click.BadParameter(f"expected the number of an attempt or `all`, found '{value}'")
    return int(value) - 1


_OPTIONS = (
    click.option("--stdout", is_flag=True, help="Show only standard output."),
    click.option("--stderr", is_flag=True, help="Show only standard error; some sites write both streams to one file."),
    click.option(
        "--runtime", is_flag=True, help="Show the output of prerequisites and plugins instead of the commands."
    ),
    click.option(
        "-n", "--tail", type=WholeNumber(min=0), metavar="N", help="Show only the last N lines of each stream."
    ),
    click.option(
        "--since",
        callback=since_time,
        metavar="TIME",
        help="Only logs written to since then: 10m or 2h ago, or a time, 14:00 or 2026-11-23T14:00.",
    ),
    click.option(
        "--attempt", callback=_attempt, metavar="N|all", help="Show attempt N of the job, from 1. Default: the last."
    ),
    click.option(
        "--task-attempt",
        type=WholeNumber(min=1),
        metavar="N",
        help="Show attempt N of the task, from 1. Default: the last.",
    ),
)


def log_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that select logs; the command gets them as `selection`."""

    @wraps(command)
    def with_selection(**options: Any) -> int:
        names = ("stdout", "stderr", "runtime", "tail", "since", "attempt", "task_attempt")
        return command(selection=_selection({name: options.pop(name) for name in names}), **options)

    for add in reversed(_OPTIONS):
        with_selection = add(with_selection)
    return with_selection


def _selection(options: Mapping[str, Any]) -> LogSelection:
    from ..app.jobs.logs.selection import LogSelection

    attempt = options["attempt"]
    return LogSelection(
        streams=_streams(stdout=options["stdout"], stderr=options["stderr"], runtime=options["runtime"]),
        attempt=attempt if isinstance(attempt, int) else None,
        all_attempts=attempt == "all",
        task_attempt=None if options["task_attempt"] is None else options["task_attempt"] - 1,
        tail=options["tail"],
        since=options["since"],
    )


def check_together(selection: LogSelection, *, follow: bool, batch: bool, as_json: bool) -> None:
    """Raise UsageError for options of `logs` that contradict each other."""
    if follow and (as_json or batch):
        raise click.UsageError("--follow cannot be used with --json or --batch")
    if batch and (selection.since is not None or selection.all_attempts):
        raise click.UsageError("--batch can only be used with --tail and a single --attempt")


def _streams(*, stdout: bool, stderr: bool, runtime: bool) -> tuple[Stream, ...]:
    from ..app.jobs.logs.selection import BOTH

    if not runtime:
        return ("stdout",) if stdout and not stderr else ("stderr",) if stderr and not stdout else BOTH
    if stdout or stderr:
        raise click.UsageError(
            "--runtime cannot be used with --stdout or --stderr: it shows the output of prerequisites and plugins"
        )
    return ("runtime",)
