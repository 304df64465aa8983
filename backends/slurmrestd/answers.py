"""Read what slurmrestd answers: as rows, and nodes, of the same kinds as of Slurm's programs.

Source: the OpenAPI specification of v0.0.42, `v0.0.42_job_info`, `v0.0.42_job` and `v0.0.42_node`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base import JobId
from ..slurm.output import Row, is_out_of_order, text
from ..slurm.states import normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

FLAGS = (
    "COMPLETING", "STAGE_OUT", "CONFIGURING", "RESIZING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT",
    "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING",
)  # fmt: skip
"""Words that go before a job's plain state, in the order of squeue. Source: slurm_protocol_defs.c, job_state_string."""
NO_VALUES = (0xFFFFFFFE, 0xFFFFFFFF)
"""What stands where there is no number. Source: slurm.h, NO_VAL and INFINITE."""


def queue_rows(jobs: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return a row for each job of the controller; a component is one. Of how they ended the accounts tell."""
    return [
        Row(
            leader=JobId(str(_number(job["het_job_id"]) or job["job_id"])),
            offset=_number(job["het_job_offset"]) if _number(job["het_job_id"]) else None,
            state=normalize(_state(job["job_state"])),
            raw_state=_state(job["job_state"]),
            reason=text(job["state_reason"] or ""),
            nodes=text(job["nodes"] or ""),
            submitted=_time(job["submit_time"]),
            started=_time(job["start_time"]),
            ended=_time(job["end_time"]),
        )
        for job in jobs
    ]


def accounting_rows(jobs: Iterable[Mapping[str, Any]], user_number: Callable[[str], int | None]) -> list[Row]:
    """Return a row for each job of the accounts, of a requeued one for its last run.

    `user_number` gives the number of the user who cancelled a job, which stands in its raw state, as by sacct.
    """
    last = {job["job_id"]: job for job in sorted(jobs, key=lambda job: _time(job["time"]["submission"]) or 0)}
    return [_accounting_row(job, user_number) for job in last.values()]


def _accounting_row(job: Mapping[str, Any], user_number: Callable[[str], int | None]) -> Row:
    state, leader = _state(job["state"]["current"]), job["het"]["job_id"]
    by = user_number(job["kill_request_user"]) if state == "CANCELLED" and job["kill_request_user"] else None
    return Row(
        leader=JobId(str(leader or job["job_id"])),
        offset=_number(job["het"]["job_offset"]) if leader else None,
        state=normalize(state),
        raw_state=state if by is None else f"{state} by {by}",
        status=_number(job["exit_code"]["return_code"]) or 0,
        signal=_number(job["exit_code"]["signal"]["id"]) or 0,
        reason=text(job["state"]["reason"] or ""),
        nodes=text(job["nodes"] or ""),
        submitted=_time(job["time"]["submission"]),
        started=_time(job["time"]["start"]),
        ended=_time(job["time"]["end"]),
    )


def unavailable(nodes: Iterable[Mapping[str, Any]], names: Collection[str]) -> dict[str, str]:
    """Return those of the names that are out of order, each with the reason that is given, or ""."""
    return {
        node["name"]: node["reason"] or ""
        for node in sorted(nodes, key=lambda node: str(node["name"]))
        if node["name"] in names and is_out_of_order(node["state"])
    }


def _state(words: Collection[str]) -> str:
    """Return the word that squeue has for a state of several, `RUNNING` and `COMPLETING`."""
    return next((flag for flag in FLAGS if flag in words), next(iter(words), ""))


def _number(value: Any) -> int | None:
    """Return a number: one that says whether it is set, or a plain one."""
    if isinstance(value, dict):
        value = value["number"] if value["set"] and not value["infinite"] else None
    return None if value in (None, *NO_VALUES) else int(value)


def _time(value: Any) -> int | None:
    """Return a time in seconds since 1970; 0 is none."""
    return _number(value) or None
