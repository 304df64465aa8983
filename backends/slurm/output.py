"""Parse the output of sbatch, squeue and sacct."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from paislurm.translator.errors import Diagnostic, UnreachableError
from paislurm.translator.times import seconds_of, slurm_time

from ..base import JobId
from ..batch_script import UNLIMITED
from ..runner import NO_ANSWER_HINT
from .commands import ACCOUNTING_FIELDS, OPTION_FIELDS, QUEUE_FIELDS
from .job_states import BY_NOBODY, normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SUBMITTED = re.compile(
    r"^\s*(?:([0-9]{1,15})(?:;(\S+))?|Submitted batch job ([0-9]{1,15})(?: on cluster (\S+))?)\s*$", re.MULTILINE
)
_NUMBER = re.compile(r"[0-9]{1,15}")
_COMPONENT = re.compile(r"[0-9]{1,15}(?:\+.*)?")
_EXIT = re.compile(r"^JobId=([0-9]+) .* Reboot=[0-9]+ ExitCode=([0-9]+:[0-9]+) ", re.MULTILINE)

UNNAMED = "allocation"
"""The name in the accounts of a job whose start they missed. Source: observed on 22.05."""
SHOWN_OPTIONS = ("partition", "account", "time")
"""The options in a query of the queue, by their sbatch names."""
NOTHING = ("", "None", "None assigned", "N/A", "Unknown", "(null)")
"""Slurm's words for a missing time, node or reason."""


class Row(Struct, frozen=True, kw_only=True):
    """Hold one component of a job from Slurm's output. `offset` is None if the row does not name it."""

    leader: JobId
    offset: int | None
    state: str
    raw_state: str
    status: int | None = None
    signal: int | None = None
    reason: str = ""
    nodes: str = ""
    submitted: int | None = None
    started: int | None = None
    ended: int | None = None
    name: str = ""
    comment: str = ""
    command: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


def submitted_ids(stdout: str) -> frozenset[JobId]:
    """Return what may be the job id that `sbatch --parsable` prints: `123` or `123;cluster`.

    A site's plugins and wrappers print lines of their own, numbers among them, or drop the option.
    """
    words = _SUBMITTED.findall(stdout)
    return frozenset(job_id_at(number or other, cluster or far) for number, cluster, other, far in words)


def job_id_at(number: str, cluster: str) -> JobId:
    """Return the job id for a number on a cluster, "" for this machine's."""
    return JobId(f"{number};{cluster}" if cluster else number)


def queue_rows(stdout: str, cluster: str = "") -> list[Row]:
    """Parse the output of a queue query; that of another cluster starts with a line of its name."""
    return [_row(values, cluster) for values in records(stdout, QUEUE_FIELDS)]


def option_rows(stdout: str, cluster: str = "") -> dict[JobId, list[dict[str, str]]]:
    """Parse the output of a query for options: those of each component in order, times as in `slurm_time`."""
    found: dict[JobId, list[tuple[int, dict[str, str]]]] = {}
    for values in records(stdout, OPTION_FIELDS):
        leader, _, offset = values.pop("id").partition("+")
        found.setdefault(job_id_at(leader, cluster), []).append((whole(offset) or 0, _options(values, values)))
    return {job_id: [known for _, known in sorted(parts, key=itemgetter(0))] for job_id, parts in found.items()}


def _options(values: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return those of the named options that have a value."""
    return {name: value for name in names if (value := _option(name, values.get(name, "")))}


def _option(name: str, value: str) -> str:
    """Return the value of an option as sbatch accepts it, "" if it is missing or invalid."""
    if name != "time" or value in UNLIMITED:
        return text(value)
    try:
        return slurm_time(timedelta(seconds=seconds_of(value)))
    except (ValueError, OverflowError):
        return ""


def accounting_rows(stdout: str, cluster: str = "") -> list[Row]:
    """Parse the output of an accounting query by its header.

    A job that went on after the loss of a node (--no-kill) has a row RESIZING for its time before, and the accounts
    show both (observed on 22.05, 24.11, 26.05). The last row has the job's state.
    """
    return [
        _row(
            {
                "id": values["JobID"],
                "name": values["JobName"] if values["JobName"] != UNNAMED else "",
                "state": BY_NOBODY if values["State"] == "CANCELLED" else values["State"],
                "exit": values["ExitCode"],
                "submit": values["Submit"],
                "start": values["Start"],
                "end": values["End"],
                "nodes": values["NodeList"],
                "comment": values["Comment"],
                "command": values.get("SubmitLine", ""),
                "reason": values["Reason"],
            },
            cluster,
        )
        for values in accounting_records(stdout, ACCOUNTING_FIELDS)
        if values["State"] != "RESIZING"
    ]


def accounting_records(stdout: str, wanted: Sequence[str]) -> list[dict[str, str]]:
    """Parse a table with `|` between fields and names in its first line. Source: sacct(1), --parsable2.

    Raises UnreachableError if one of the `wanted` columns is missing.
    """
    lines = stdout.split("\n")
    tables = (number for number, line in enumerate(lines) if set(wanted) <= set(line.strip().split("|")))
    start = next(tables, None)
    if start is not None:
        return records("\n".join(lines[start + 1 :]), lines[start].strip().split("|"))
    if not stdout.strip():
        return []
    message = f"sacct did not print the requested columns {', '.join(wanted)}"
    raise UnreachableError(Diagnostic(code="E543", message=message, hint=NO_ANSWER_HINT.format("sacct")))


def records(text: str, names: Iterable[str]) -> list[dict[str, str]]:
    """Parse lines with the id of a component, in the column `JobID` or the first. The last field may contain `|`.

    Skip other lines: a site's wrapper may print some.
    """
    keys = list(names)
    key = "JobID" if "JobID" in keys else keys[0]
    lines = (line.strip().split("|", len(keys) - 1) for line in text.split("\n"))
    found = (dict(zip(keys, fields, strict=True)) for fields in lines if len(fields) == len(keys))
    return [values for values in found if _COMPONENT.fullmatch(values[key])]


def exit_of(stdout: str, job_id: JobId) -> tuple[int | None, int | None]:
    """Return the exit status and signal of a job from `scontrol show job`, both None if it has no line."""
    return _exit_code(dict(_EXIT.findall(stdout)).get(job_id, ""))


def unavailable_nodes(stdout: str) -> dict[str, str]:
    """Return the nodes that do not work, and why. In `mixed*`, `*` means: not responding, not yet marked down.

    Source: sinfo(1), NODE STATE CODES; observed on 22.05: a job is NODE_FAIL before its node is `down*`.
    """
    rows = (line.split(None, 2) for line in stdout.splitlines())
    return {
        row[0]: "" if row[2].strip() == "none" else row[2].strip()
        for row in sorted(rows)
        if len(row) == 3 and (row[1].endswith("*") or row[1].startswith(("down", "drain", "fail")))
    }


def _row(values: Mapping[str, str], cluster: str) -> Row:
    leader, plus, offset = values["id"].partition("+")
    status, signal = _exit_code(values.get("exit", ""))
    return Row(
        leader=job_id_at(leader, cluster),
        offset=whole(offset) if plus else None,
        state=normalize(values["state"]),
        raw_state=values["state"],
        status=status,
        signal=signal,
        reason=text(values["reason"]),
        nodes=text(values["nodes"]),
        submitted=moment(values["submit"]),
        started=moment(values["start"]),
        ended=moment(values["end"]),
        name=text(values["name"]),
        comment=text(values["comment"]),
        command=text(values["command"]),
        options=_options(values, SHOWN_OPTIONS),
    )


def _exit_code(text: str) -> tuple[int | None, int | None]:
    """Parse `status:signal`. Source: sacct(1), ExitCode."""
    status, _, signal = text.partition(":")
    both = (whole(status), whole(signal))
    return (None, None) if None in both else both


def whole(text: str) -> int | None:
    """Return a word as a whole number, None if it is not one."""
    return int(text) if _NUMBER.fullmatch(text) else None


def moment(text: str) -> int | None:
    """Return a time in seconds since 1970, None if there is none.

    A wrapper that drops our environment makes Slurm print its own form, in the time zone of the login node.
    """
    with suppress(ValueError, OverflowError):
        return whole(text) if "T" not in text else int(datetime.fromisoformat(text).timestamp())
    return None


def text(word: str) -> str:
    """Return a word of Slurm, "" for one that means nothing."""
    return "" if word in NOTHING else word
