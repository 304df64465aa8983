"""What to ask Slurm before a job is submitted: when it would start, which GPUs are free, and who waits for some."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TEST_ONLY = "--test-only"

NODE_COLUMNS = ("NodeList", "Partition", "Available", "StateLong", "Gres", "GresUsed")
"""Source: sinfo(1), --Format."""

WAITING_COLUMNS = (
    "JobArrayID", "Partition", "NumNodes", "NumTasks",
    "tres-alloc", "tres-per-node", "tres-per-job", "tres-per-task", "Reason",
)  # fmt: skip
"""`tres-alloc` of a job that waits is what it asks for; it names GPUs only where the site accounts for them
(AccountingStorageTRES), and the columns behind it do everywhere. Source: squeue(1), --Format."""


def sbatch_test_only() -> list[str]:
    """Return the command that says when the script on its standard input would start, and submits nothing."""
    return ["sbatch", TEST_ONLY]


def sinfo_gpus(partitions: Sequence[str] = (), cluster: str = "") -> list[str]:
    """Return the query for the GPUs of nodes, of all partitions without a name: a line for each node and partition."""
    return ["sinfo", "--noheader", "--Node", *_where(partitions, cluster), _format(NODE_COLUMNS)]


def squeue_waiting(partitions: Sequence[str] = (), cluster: str = "") -> list[str]:
    """Return the query for what jobs that wait ask for: a line for each component, and each task of an array."""
    pending = ["--noheader", "--array", "--states=PENDING"]
    return ["squeue", *pending, *_where(partitions, cluster), _format(WAITING_COLUMNS)]


def _where(partitions: Sequence[str], cluster: str) -> list[str]:
    named = [f"--partition={','.join(partitions)}"] if partitions else []
    return [*named, f"--clusters={cluster}" if cluster else "--local"]


def _format(columns: Sequence[str]) -> str:
    """Return the option for columns of any width, each with a bar behind it."""
    return f"--Format={','.join(f'{column}:|' for column in columns)}"
