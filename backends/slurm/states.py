"""Slurm's words for the state of a job, and what each means for one who waits.

Source: sacct(1) and squeue(1), JOB STATE CODES, of Slurm 20.11 to 26.05.
"""

from __future__ import annotations

from enum import Enum


class Phase(str, Enum):
    """Say where a job is in its life; UNKNOWN for words that came after this table."""

    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"
    UNKNOWN = "unknown"


STATES: dict[str, tuple[str, Phase]] = {
    "BOOT_FAIL": ("BF", Phase.ENDED),
    "CANCELLED": ("CA", Phase.ENDED),
    "COMPLETED": ("CD", Phase.ENDED),
    "COMPLETING": ("CG", Phase.RUNNING),
    "CONFIGURING": ("CF", Phase.PENDING),
    "DEADLINE": ("DL", Phase.ENDED),
    "EXPEDITING": ("EX", Phase.PENDING),
    "FAILED": ("F", Phase.ENDED),
    "LAUNCH_FAILED": ("LF", Phase.ENDED),
    "NODE_FAIL": ("NF", Phase.ENDED),
    "OUT_OF_MEMORY": ("OOM", Phase.ENDED),
    "PENDING": ("PD", Phase.PENDING),
    "POWER_UP_NODE": ("PU", Phase.PENDING),
    "PREEMPTED": ("PR", Phase.ENDED),
    "RECONFIG_FAIL": ("", Phase.ENDED),
    "REQUEUED": ("RQ", Phase.PENDING),
    "REQUEUE_FED": ("RF", Phase.PENDING),
    "REQUEUE_HOLD": ("RH", Phase.PENDING),
    "RESIZING": ("RS", Phase.RUNNING),
    "RESV_DEL_HOLD": ("RD", Phase.PENDING),
    "REVOKED": ("RV", Phase.ENDED),
    "RUNNING": ("R", Phase.RUNNING),
    "SIGNALING": ("SI", Phase.RUNNING),
    "SPECIAL_EXIT": ("SE", Phase.PENDING),
    "STAGE_OUT": ("SO", Phase.RUNNING),
    "STOPPED": ("ST", Phase.RUNNING),
    "SUSPENDED": ("S", Phase.RUNNING),
    "TIMEOUT": ("TO", Phase.ENDED),
    "UPDATE_DB": ("", Phase.RUNNING),
}
"""Each word with its short form ("" where there is none of its own) and its phase.

COMPLETING still runs: processes may be alive on some node. RECONFIG_FAIL would be RF too, as REQUEUE_FED is.
"""

FORGOTTEN = "FORGOTTEN"
"""Not a word of Slurm's: the controller has no record of the job any more, and nobody else keeps one."""

_LONG = {short: word for word, (short, _) in STATES.items() if short}

CAUSES = (
    "NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL", "PREEMPTED", "TIMEOUT", "DEADLINE", "REVOKED",
    "CANCELLED", "OUT_OF_MEMORY", "FAILED", "COMPLETED",
)  # fmt: skip
"""Endings, those first that explain the others: where a node fails, other components may be called FAILED."""


def normalize(raw: str) -> str:
    """Return the state word of what Slurm printed; a word that is not known stays as it is.

    `CANCELLED by 1000` is CANCELLED; `OUT_OF_ME+` is what fits into a narrow column; `CA` is a short form.
    """
    word = (raw.split() or [""])[0]
    if word.endswith("+"):
        stem = word[:-1]
        matches = [name for name in STATES if name.startswith(stem)]
        return matches[0] if len(matches) == 1 else stem
    return _LONG.get(word, word)


def phase(state: str) -> Phase:
    """Return the phase of a bare state word."""
    if state == FORGOTTEN:
        return Phase.ENDED
    return STATES[state][1] if state in STATES else Phase.UNKNOWN


def precedence(state: str) -> int:
    """Return the rank of an ending among those of one job's components: the lowest one is the job's."""
    return CAUSES.index(state) if state in CAUSES else len(CAUSES)
