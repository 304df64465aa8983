"""Read what sbatch, squeue and sacct print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .base import JobId
from .slurm_commands import QUEUE_FIELDS
from .slurm_states import bare

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SUBMITTED = re.compile(r"^(\d+)(?:;\S+)?$", re.MULTILINE)

NOTHING = ("", "None", "None assigned", "N/A", "Unknown", "(null)")
"""What stands where there is no time, no node or no reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Hold what Slurm says of one component of a job. `offset` is None where the row does not name one."""

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


def submitted_id(stdout: str) -> JobId | None:
    """Return the job id of `sbatch --parsable`: `123`, or `123;cluster`. A site's plugins may print too."""
    found = _SUBMITTED.findall(stdout)
    return JobId(found[-1]) if found else None


def queue_rows(stdout: str) -> list[Row]:
    """Read the answer to a queue query."""
    return [_row(values) for values in _records(stdout, QUEUE_FIELDS)]


def accounting_rows(stdout: str) -> list[Row]:
    """Read the answer to an accounting query, keyed by its header."""
    return [
        _row(
            {
                "id": values["JobID"],
                "state": values["State"],
                "exit": values["ExitCode"],
                "submit": values["Submit"],
                "start": values["Start"],
                "end": values["End"],
                "nodes": values["NodeList"],
                "reason": values["Reason"],
            }
        )
        for values in accounting_records(stdout)
    ]


def accounting_records(stdout: str) -> list[dict[str, str]]:
    """Read a table with `|` between fields, named by its first line. Source: sacct(1), --parsable2."""
    header, _, rest = stdout.partition("\n")
    return _records(rest, header.split("|"))


def _records(text: str, names: Iterable[str]) -> list[dict[str, str]]:
    """Read lines into records. A last field may contain `|`; a line that is too short is not ours."""
    keys = list(names)
    lines = (line.split("|", len(keys) - 1) for line in text.splitlines())
    return [dict(zip(keys, fields, strict=True)) for fields in lines if len(fields) == len(keys)]


def lost_nodes(stdout: str) -> list[str]:
    """Return the nodes that do not work. `mixed*` does not respond, and is not down for another moment.

    Source: sinfo(1), NODE STATE CODES; observed on 22.05: a job is NODE_FAIL before its node is `down*`.
    """
    rows = (line.split() for line in stdout.splitlines())
    lost = {
        row[0]
        for row in rows
        if len(row) == 2 and (row[1].endswith("*") or row[1].startswith(("down", "drain", "fail")))
    }
    return sorted(lost)


def _row(values: Mapping[str, str]) -> Row:
    leader, plus, offset = values["id"].partition("+")
    status, signal = _exit_code(values.get("exit", ""))
    return Row(
        leader=JobId(leader),
        offset=int(offset) if plus and offset.isdigit() else None,
        state=bare(values["state"]),
        raw_state=values["state"],
        status=status,
        signal=signal,
        reason=_text(values["reason"]),
        nodes=_text(values["nodes"]),
        submitted=_time(values["submit"]),
        started=_time(values["start"]),
        ended=_time(values["end"]),
    )


def _exit_code(text: str) -> tuple[int | None, int | None]:
    """Read `status:signal`. Source: sacct(1), ExitCode."""
    status, _, signal = text.partition(":")
    return (int(status), int(signal)) if status.isdigit() and signal.isdigit() else (None, None)


def _time(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _text(text: str) -> str:
    return "" if text in NOTHING else text
