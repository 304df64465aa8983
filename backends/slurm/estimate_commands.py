"""Queries before a submit: expected start, free GPUs, and jobs that wait for GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NODE_COLUMNS = (
    "NodeList",
    "Partition",
    "Available",
    "StateLong",
    "Gres",
    "GresUsed",
    "CPUsState",
    "Memory",
    "AllocMem",
)
"""Source: sinfo(1), --Format."""

WAITING_COLUMNS = (
    "JobArrayID", "Partition", "NumNodes", "NumTasks",
    "tres-alloc", "tres-per-node", "tres-per-job", "tres-per-task", "Reason",
)  # fmt: skip
"""For a waiting job, `tres-alloc` is its request. It includes GPUs only if the site accounts for them
(AccountingStorageTRES); the columns after it always do.

Source: squeue(1), --Format.
"""


def sbatch_test_only() -> list[str]:
    """Return the command that prints when the script on its standard input would start, and submits nothing."""
    return ["sbatch", "--test-only"]


def is_test(argv: Sequence[str]) -> bool:
    """Return whether an `sbatch` command only tests."""
    return "--test-only" in argv


def sinfo_gpus(partitions: Sequence[str] = (), cluster: str = "") -> list[str]:
    """Return the query for GPUs, a line for each node and partition. Without `partitions`, query all."""
    return [
        "sinfo",
        "--noheader",
        "--Node",
        *([f"--partition={','.join(partitions)}"] if partitions else []),
        f"--clusters={cluster}" if cluster else "--local",
        f"--Format={_wide(NODE_COLUMNS)}",
    ]


def squeue_waiting(partitions: Sequence[str] = (), cluster: str = "") -> list[str]:
    """Return the query for the requests of waiting jobs, a line for each component and each array task."""
    return [
        "squeue",
        "--noheader",
        "--array",
        "--states=PENDING",
        *([f"--partition={','.join(partitions)}"] if partitions else []),
        f"--clusters={cluster}" if cluster else "--local",
        f"--Format={_wide(WAITING_COLUMNS)}",
    ]


def _wide(columns: Sequence[str]) -> str:
    """Return columns without a width limit, each followed by a bar."""
    return ",".join(f"{column}:|" for column in columns)
