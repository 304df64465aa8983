"""Read what the process that asks pyslurm answers: as rows, and nodes, of the same kinds as of Slurm's programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base import JobId
from ..slurm.output import Row, is_out_of_order, text
from ..slurm.states import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def rows(records: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return a row for each record of the queue or of the accounts; who cancelled a job stands in its raw state."""
    return [_row(record) for record in records]


def _row(record: Mapping[str, Any]) -> Row:
    by = record.get("by")
    return Row(
        leader=JobId(str(record["leader"])),
        offset=record["offset"],
        state=normalize(record["state"]),
        raw_state=record["state"] if by is None else f"{record['state']} by {by}",
        status=record.get("status"),
        signal=record.get("signal"),
        reason=text(record.get("reason") or ""),
        nodes=text(record["nodes"] or ""),
        submitted=record["submitted"],
        started=record["started"],
        ended=record["ended"],
    )


def is_doubtful(row: Row) -> bool:
    """Tell whether the exit status of a row may lack 128: by pyslurm a script that ended with 137 did so with 9.

    It is 0 for 128. Of what Slurm ends itself, or did not fail, the status is 0, and right.
    """
    return row.status is not None and not row.signal and (row.state == "FAILED" or row.status != 0)


def unavailable(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the nodes that are out of order, each with the reason that is given, or ""."""
    return {
        record["name"]: record["reason"] or ""
        for record in sorted(records, key=lambda record: str(record["name"]))
        if is_out_of_order(record["state"].split("+"))
    }
