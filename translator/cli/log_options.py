"""Options that say which logs are wanted: a command is handed them as a `LogSelection`."""

from __future__ import annotations

import re
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
    if not value.isascii() or not value.isdecimal() or len(value) > 9:
        raise click.BadParameter(f"{value} is no number of an attempt, and is not `all`")
    return int(value)


_OPTIONS = (
    click.option("--stdout", is_flag=True, help="Standard output alone."),
    click.option("--stderr", is_flag=True, help="Standard error alone; a site can have one file for both."),
    click.option("--runtime", is_flag=True, help="What prerequisites and plugins print, instead of the commands."),
    click.option("-n", "--tail", type=WholeNumber(min=0), metavar="N", help="Only the last N lines of each stream."),
    click.option(
        "--since",
        callback=since_time,
        metavar="TIME",
        help="Leave out what was last written to before: 10m or 2h ago, or a time, 14:00 or 2026-11-23T14:00.",
    ),
    click.option("--grep", metavar="REGEX", help="Only lines in which a regular expression of Python's is found."),
    click.option("-i", "--ignore-case", is_flag=True, help="Of --grep: large and small letters are alike."),
    click.option(
        "--timestamps",
        is_flag=True,
        help="When each line came here; of what was there already `<=` and when its file was last written to.",
    ),
    click.option("--attempt", callback=_attempt, metavar="N|all", help="Of the job's attempt N; default: the last."),
    click.option(
        "--task-attempt",
        type=WholeNumber(min=0),
        metavar="N",
        help="Of the task's attempt N; default: the newest.",
    ),
)


def log_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say which logs are wanted; the command is handed them as its `selection`."""

    @wraps(command)
    def with_selection(**options: Any) -> int:
        names = ("stdout", "stderr", "runtime", "tail", "since", "grep", "ignore_case", "timestamps", "attempt",
                 "task_attempt")  # fmt: skip
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
        task_attempt=options["task_attempt"],
        tail=options["tail"],
        since=options["since"],
        grep=_expression(options["grep"], ignore_case=options["ignore_case"]),
        timestamps=options["timestamps"],
    )


def check_together(selection: LogSelection, *, follow: bool, batch: bool, as_json: bool) -> None:
    """Raise a usage error for options of `logs` that contradict each other."""
    by_line = selection.grep is not None or selection.timestamps
    if follow and (as_json or batch):
        raise click.UsageError("--follow shows the logs of tasks: it goes neither with --json nor with --batch")
    if batch and (by_line or selection.since is not None or selection.all_attempts):
        raise click.UsageError("--batch goes with --tail and a single --attempt alone")
    if as_json and by_line:
        raise click.UsageError("--json tells of files: it goes neither with --grep nor with --timestamps")


def _streams(*, stdout: bool, stderr: bool, runtime: bool) -> tuple[Stream, ...]:
    from ..app.jobs.logs.selection import BOTH

    if not runtime:
        return ("stdout",) if stdout and not stderr else ("stderr",) if stderr and not stdout else BOTH
    if stdout or stderr:
        raise click.UsageError(
            "--stdout and --stderr show what the commands print, --runtime what prerequisites and plugins print"
        )
    return ("runtime",)


def _expression(text: str | None, *, ignore_case: bool) -> re.Pattern[str] | None:
    if text is None:
        if ignore_case:
            raise click.UsageError("--ignore-case is of --grep")
        return None
    try:
        return re.compile(text, re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise click.BadParameter(f"{text} is no regular expression: {error}", param_hint="--grep") from None
