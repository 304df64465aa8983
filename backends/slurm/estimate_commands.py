"""Queries before a submit: the expected start, and the partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NODE_COLUMNS = ("NodeList", "Partition", "Available", "StateLong")
"""Source: sinfo(1), --Format."""


def sbatch_test_only() -> list[str]:
    """Return the command that prints when the script on its standard input would start, and submits nothing."""
    return ["sbatch", "--test-only"]


def is_test(argv: Sequence[str]) -> bool:
    """Return whether an `sbatch` command only tests."""
    return "--test-only" in argv


def sinfo_partitions(partitions: Sequence[str], cluster: str = "") -> list[str]:
    """Return the query for the states of nodes, a line for each node and partition. Without `partitions`, query all."""
    wanted = [f"--partition={','.join(partitions)}"] if partitions else []
    where = f"--clusters={cluster}" if cluster else "--local"
    columns = ",".join(f"{column}:|" for column in NODE_COLUMNS)
    return ["sinfo", "--noheader", "--Node", *wanted, where, f"--Format={columns}"]
