"""The faults of rehearsals, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paislurm.backends.local.faults import Fault

TEXTS: Mapping[Fault, str] = {
    "term": "TERM to all tasks, and KILL after 5 s",
    "kill": "KILL of one task",
    "node": "KILL of all processes at once",
}
NOT_HERE = {
    "the time limit itself": "Slurm's TERM comes from the shutdown of the local node here, so `onTimeout` is not tried",
    "memory, a full disk": "they need a control group or a file system of their own",
    "a stalled task": "nothing shows a stall while the task lives",
}
"""Faults that this backend does not provoke, with the reason."""
