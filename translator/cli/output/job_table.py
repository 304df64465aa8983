"""The table of `list`: what each column says of a job, and in which order jobs can stand. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...folded_names import by_numbers
from ...times import age, by_size, decimal, elapsed, elapsed_seconds, elapsed_text, format_time, number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...app.jobs.listing import Line

    SortKey = str | int | tuple[int, int] | tuple[int, float, str] | tuple[str | tuple[int, int, str], ...] | None

PARAMETER = "param."
"""What goes before the name of a parameter of the job file, as a column."""
DEFAULT_COLUMNS = ("name", "state", "code", "id", "done", "age", "elapsed", "reason")
WATCH_COLUMNS = ("name", "state", "code", "id", "done", "age", "elapsed")
MIN_NAME, MIN_REASON = 12, 24
"""So many characters of a name, and of a reason, a terminal shows at least; without that room, no reasons."""


class Column(NamedTuple):
    """Say what a column shows of a job, and by what jobs are sorted: None stands where nothing is known."""

    text: Callable[[Line, int], str]
    key: Callable[[Line, int], SortKey]


def _plain(value: Callable[[Line], str | None]) -> Column:
    return Column(lambda line, _: value(line) or "-", lambda line, _: value(line) or None)


def _count(value: Callable[[Line], int | None]) -> Column:
    return Column(lambda line, _: number(value(line)), lambda line, _: value(line))


def _moment(value: Callable[[Line], int | None]) -> Column:
    return Column(lambda line, _: format_time(value(line) or None), lambda line, _: value(line))


def _id_key(line: Line, _: int) -> SortKey:
    job_number = line.job_id.partition(";")[0]
    return int(job_number) if job_number.isdecimal() else None


def _done(line: Line, _: int) -> str:
    return f"{number(line.completed)} of {line.task_count}" if line.readable else "-"


def _age(line: Line, now: int) -> int | None:
    return now - line.begun_at if line.begun_at else None


COLUMNS: Mapping[str, Column] = {
    "name": Column(lambda line, _: line.short_name, lambda line, _: by_numbers(line.name)),
    "state": _plain(lambda line: line.state),
    "code": _count(lambda line: line.exit_code),
    "id": Column(lambda line, _: line.job_id or "-", _id_key),
    "done": Column(_done, lambda line, _: line.completed),
    "tasks": _count(lambda line: line.task_count if line.readable else None),
    "submitted": _moment(lambda line: line.begun_at),
    "age": Column(lambda line, now: "-" if (seconds := _age(line, now)) is None else age(seconds), _age),
    "started": _moment(lambda line: line.started_at),
    "ended": _moment(lambda line: line.ended_at),
    "elapsed": Column(
        lambda line, now: elapsed(line.runs_since, line.ended_at, now),
        lambda line, now: elapsed_seconds(line.runs_since, line.ended_at, now),
    ),
    "result": Column(
        lambda line, _: decimal(line.result),
        lambda line, _: None if line.result is None else (0, line.result, ""),
    ),
    "limit": Column(lambda line, _: elapsed_text(line.time_limit), lambda line, _: line.time_limit),
    "start": _moment(lambda line: line.expected_start_at),
    "partition": _plain(lambda line: line.partition),
    "vc": _plain(lambda line: line.virtual_cluster),
    "reason": _plain(lambda line: line.reason),
    "help": _plain(lambda line: line.advice),
    "nodes": _plain(lambda line: line.node_list),
    "attempt": _count(lambda line: line.attempt if line.readable else None),
    "backend": _plain(lambda line: line.backend),
    "user": _plain(lambda line: line.name.partition("~")[0]),
    "folder": _plain(lambda line: line.folder),
}


def column(name: str) -> Column | None:
    """Return a column by its name, `param.lr` for a parameter of the job file; None if there is none of that name."""
    if name.startswith(PARAMETER) and name != PARAMETER:
        parameter = name.removeprefix(PARAMETER)

        def key(line: Line, _: int) -> tuple[int, float, str] | tuple[str | tuple[int, int, str], ...] | None:
            value = line.parameters.get(parameter)
            return None if value is None else by_size(value)

        return Column(lambda line, _: line.parameters.get(parameter) or "-", key)
    return COLUMNS.get(name)


def needs_run(columns: Sequence[str]) -> bool:
    """Tell whether columns show what `with_run` reads."""
    return any(name == "result" or name.startswith(PARAMETER) for name in columns)


def sorted_lines(lines: Sequence[Line], by: str, now: int) -> list[Line]:
    """Return lines by a column, the smallest first, with `-` before its name the largest; unknown ones are last."""
    chosen = column(by.removeprefix("-"))
    assert chosen is not None
    known = [(key, line) for line in lines if (key := chosen.key(line, now)) is not None]
    known.sort(key=lambda pair: pair[0], reverse=by.startswith("-"))
    found = [line for _, line in known]
    kept = {line.name for line in found}
    return found + [line for line in lines if line.name not in kept]


def cells(lines: Sequence[Line], columns: Sequence[str], now: int) -> list[tuple[str, ...]]:
    """Return a row for each line; all columns have to be there."""
    chosen = [each for name in columns if (each := column(name)) is not None]
    return [tuple(each.text(line, now) for each in chosen) for line in lines]


def fitted(
    columns: Sequence[str], rows: Sequence[tuple[str, ...]], width: int
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return columns and rows that fit `width` characters as far as can be: reasons are cut, or left out; then names.

    What is cut ends in `…`.
    """
    names, table = list(columns), [list(row) for row in rows]
    for name, least in (("reason", MIN_REASON), ("name", MIN_NAME)):
        if name not in names:
            continue
        place = names.index(name)
        widths = [max(map(len, cells)) for cells in zip(names, *table, strict=True)]
        over = sum(widths) + 2 * (len(widths) - 1) - width
        room = widths[place] - over
        if over <= 0:
            break
        if name == "reason" and room < least and len(names) > 1:
            del names[place]
            for row in table:
                del row[place]
            continue
        for row in table:
            row[place] = _cut(row[place], max(room, least))
    return tuple(names), [tuple(row) for row in table]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
