"""What to ask Slurm before a job is submitted: when it would start, which GPUs are free, and who waits for some."""

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
"""`tres-alloc` of a job that waits is what it asks for; it names GPUs only where the site accounts for them
(AccountingStorageTRES), and the columns behind it do everywhere. Source: squeue(1), --Format."""


def sbatch_test_only() -> list[str]:
    """Return the command that says when the script on its standard input would start, and submits nothing."""
    return ["sbatch", "--test-only"]


def is_test(argv: Sequence[str]) -> bool:
    """Tell whether a command of `sbatch` submits nothing."""
    return "--test-only" in argv


def sinfo_gpus(partitions: Sequence[str] = (), cluster: str = "") -> list[str]:
    """Return the query for the GPUs of nodes, of all partitions without a name: a line for each node and partition."""
    return [
        "sinfo",
        "--noheader",
        "--Node",
        *([f"--partition={','.join(partitions)}"] if partitions else []),
        f"--clusters={cluster}" if cluster else "--local",
        f"--Format={_wide(NODE_COLUMNS)}",
    ]


def squeue_waiting(partitions: Sequence[str] = (), cluster: str = "") -> list[str]:
    """Return the query for what jobs that wait ask for: a line for each component, and each task of an array."""
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
    """Return columns of any width, each with a bar behind it."""
    return ",".join(f"{column}:|" for column in columns)
