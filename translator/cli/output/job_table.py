"""The columns of `list`: text and sort order. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...app.session import user_name
from ...folded_names import by_numbers
from ...plural import size_text
from ...times import age, by_size, decimal, elapsed_text, format_time, number, seconds_since_1970

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...times import Time
    from ...view.line import JobLine

    SortKey = (
        str | int | Time | tuple[int, int] | tuple[int, float, str] | tuple[str | tuple[int, int, str], ...] | None
    )

PARAMETER = "param."
"""The prefix of columns for parameters of the job file."""
DEFAULT_COLUMNS = ("name", "state", "code", "id", "done", "age", "elapsed", "reason")
WATCH_COLUMNS = ("name", "state", "code", "id", "done", "age", "elapsed")
MIN_NAME, MIN_REASON = 12, 24
"""The least width of a name and of a reason on a terminal, in characters; reasons that do not fit are omitted."""


def short_name(line: JobLine) -> str:
    """Return the name of a job, without the user's own `user~`."""
    return line.name.removeprefix(f"{user_name()}~")


class Column(NamedTuple):
    """Functions for the text of a column and its sort key; None for an unknown value."""

    text: Callable[[JobLine, int], str]
    key: Callable[[JobLine, int], SortKey]


def _plain(value: Callable[[JobLine], str | None]) -> Column:
    return Column(lambda line, _: value(line) or "-", lambda line, _: value(line) or None)


def _count(value: Callable[[JobLine], int | None]) -> Column:
    return Column(lambda line, _: number(value(line)), lambda line, _: value(line))


def _moment(value: Callable[[JobLine], Time | None]) -> Column:
    return Column(lambda line, _: format_time(seconds_since_1970(value(line))), lambda line, _: value(line))


def _id_key(line: JobLine, _: int) -> SortKey:
    job_number = (line.job_id or "").partition(";")[0]
    return int(job_number) if job_number.isdecimal() else None


def _done(line: JobLine, _: int) -> str:
    return f"{number(line.completed)} of {line.task_count}" if line.readable else "-"


def _age(line: JobLine, now: int) -> int | None:
    return now - line.begun_at if line.begun_at else None


COLUMNS: Mapping[str, Column] = {
    "name": Column(lambda line, _: short_name(line), lambda line, _: by_numbers(line.name)),
    "state": _plain(lambda line: line.state),
    "code": _count(lambda line: line.exit_code),
    "id": Column(lambda line, _: line.job_id or "-", _id_key),
    "done": Column(_done, lambda line, _: line.completed),
    "tasks": _count(lambda line: line.task_count if line.readable else None),
    "submitted": _moment(lambda line: line.submitted_at or line.created_at),
    "age": Column(lambda line, now: "-" if (seconds := _age(line, now)) is None else age(seconds), _age),
    "started": _moment(lambda line: line.started_at),
    "ended": _moment(lambda line: line.ended_at),
    "elapsed": Column(lambda line, now: elapsed_text(line.elapsed(now)), lambda line, now: line.elapsed(now)),
    "result": Column(
        lambda line, _: decimal(line.result),
        lambda line, _: None if line.result is None else (0, line.result, ""),
    ),
    "size": Column(
        lambda line, _: "-" if line.size_bytes is None else size_text(line.size_bytes),
        lambda line, _: line.size_bytes,
    ),
    "limit": Column(lambda line, _: elapsed_text(line.time_limit), lambda line, _: line.time_limit),
    "start": _moment(lambda line: line.expected_start_at),
    "partition": _plain(lambda line: line.partition),
    "vc": _plain(lambda line: line.virtual_cluster),
    "reason": _plain(lambda line: line.reason),
    "help": _plain(lambda line: line.advice),
    "nodes": _plain(lambda line: line.node_list),
    "attempt": Column(
        lambda line, _: number(line.attempt + 1 if line.readable else None),
        lambda line, _: line.attempt if line.readable else None,
    ),
    "backend": _plain(lambda line: line.backend),
    "user": _plain(lambda line: line.name.partition("~")[0]),
    "folder": _plain(lambda line: line.folder),
}


def column(name: str) -> Column | None:
    """Return a column by its name, `param.lr` for a parameter of the job file; None if unknown."""
    if name.startswith(PARAMETER) and name != PARAMETER:
        parameter = name.removeprefix(PARAMETER)

        def key(line: JobLine, _: int) -> tuple[int, float, str] | tuple[str | tuple[int, int, str], ...] | None:
            value = (line.parameters or {}).get(parameter)
            return None if value is None else by_size(value)

        return Column(lambda line, _: (line.parameters or {}).get(parameter) or "-", key)
    return COLUMNS.get(name)


def needs_run(columns: Sequence[str]) -> bool:
    """Return whether columns need the data that `with_run` reads."""
    return any(name == "result" or name.startswith(PARAMETER) for name in columns)


def sorted_lines(lines: Sequence[JobLine], by: str, now: int) -> list[JobLine]:
    """Return lines sorted by a column, `-COLUMN` for the largest first; unknown values come last."""
    chosen = column(by.removeprefix("-"))
    assert chosen is not None
    known = [(key, line) for line in lines if (key := chosen.key(line, now)) is not None]
    known.sort(key=lambda pair: pair[0], reverse=by.startswith("-"))
    found = [line for _, line in known]
    kept = {line.name for line in found}
    return found + [line for line in lines if line.name not in kept]


def cells(lines: Sequence[JobLine], columns: Sequence[str], now: int) -> list[tuple[str, ...]]:
    """Return a row for each line; all columns must exist."""
    chosen = [each for name in columns if (each := column(name)) is not None]
    return [tuple(each.text(line, now) for each in chosen) for line in lines]


def fitted(
    columns: Sequence[str], rows: Sequence[tuple[str, ...]], width: int
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return columns and rows that fit `width` characters if possible.

    Reasons are cut or omitted first, then names. A cut text ends in `…`.
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
