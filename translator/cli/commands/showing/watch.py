"""`paislurm watch`: how jobs stand, as it changes."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ...options import examples, json_option
from ...output.console import colourful, log, one_line, print_json_line, print_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ...jobs.listing import Line

    Show = Callable[[Sequence[Line]], None]

MIN_INTERVAL = 2.0


@click.command(epilog=examples("paislurm watch", "paislurm watch my-job other-job", "paislurm watch --json"))
@click.argument("jobs", metavar="[JOB]...", nargs=-1)
@json_option
def command(jobs: tuple[str, ...], *, as_json: bool) -> int:
    """Show how jobs stand, as it changes: all that have not ended, or those that are named.

    On a terminal that is one table; elsewhere, and with --json, a line for each change. It ends when all have ended.
    Ctrl-C ends the watching, and no job.
    """
    from ...context import store, user_name

    names = {store().find(job, user=user_name()).name for job in jobs}
    with _table() if not as_json and colourful(sys.stdout) else _changes(as_json=as_json) as show:
        if not _watch(names, show):
            log("no job of yours is left to watch")
    return 0


def _watch(names: set[str], show: Show) -> bool:
    """Show jobs until all have ended; False if there is none. If none is named, those that come later are shown."""
    from ...context import store
    from ...jobs.asking import BY_A_PERSON, interval
    from ...jobs.listing import lines
    from ...jobs.waiting import TICK, Pace

    shown, told, pace = set(names), "", Pace(0)
    seen: list[Line] = []
    max_age, later = BY_A_PERSON, interval()
    while True:
        if pace.due(time.monotonic()):
            found, problems = lines(store(), everything=bool(names), max_age=max_age)
            max_age = later
            shown |= {line.name for line in found if line.readable and not line.ended and not names}
            news = [line for line in found if line.name in shown]
            problem = "; ".join(problems)
            if problem and problem != told:
                log(f"states are those that were known last; a backend does not answer: {problem}")
            told = problem
            show(news)
            if all(line.ended or not line.readable for line in news):
                return bool(news)
            if news != seen:
                pace = Pace(MIN_INTERVAL, *_watched_paths(news))
                pace.due(time.monotonic())
            seen = news
        time.sleep(TICK)


def _watched_paths(found: Sequence[Line]) -> Iterator[Path]:
    """Return what is written when something happens."""
    from pathlib import Path

    from ....state.job_folder import JobFolder
    from ...context import store

    yield store().jobs
    for line in found:
        folder = JobFolder(path=Path(line.folder))
        yield folder.journal
        yield folder.result(line.attempt)


@contextmanager
def _table() -> Iterator[Show]:
    """Show a table in one place of the terminal."""
    from rich.console import Console
    from rich.live import Live

    from ...context import clock
    from ...output.job_table import WATCH_COLUMNS, cells
    from ...output.tables import rich_table

    with Live(console=Console(), auto_refresh=False) as live:

        def show(found: Sequence[Line]) -> None:
            now = clock()
            live.update(rich_table(WATCH_COLUMNS, cells(found, WATCH_COLUMNS, now)), refresh=True)

        yield show


@contextmanager
def _changes(*, as_json: bool) -> Iterator[Show]:
    """Show a line whenever a job stands in another way."""
    before: dict[str, Line] = {}

    def show(found: Sequence[Line]) -> None:
        for line in found:
            if before.get(line.name) != line:
                before[line.name] = line
                if as_json:
                    print_json_line(line.as_dict())
                else:
                    print_result(_text(line))

    yield show


def _text(line: Line) -> str:
    from ...context import clock
    from ...output.job_table import WATCH_COLUMNS, cells
    from ...output.times import format_time

    now = clock()
    words = " ".join(cells([line], WATCH_COLUMNS[:5], now)[0])
    why = "; ".join(filter(None, (line.reason, line.advice and f"what helps: {line.advice}")))
    return one_line(f"{format_time(now)}  {words}" + (f"  {why}" if why else ""))
