"""What a test that failed left on its cluster: jobs that wait for what never comes, and keep nodes from all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster

FAILED = pytest.StashKey[bool]()


def cancel_if_failed(cluster: Cluster, item: pytest.Item, word: str) -> None:
    """If a test has failed, cancel the jobs whose working folder, name or command has a word."""
    if item.stash.get(FAILED, False):
        rows = cluster.admin(["squeue", "--noheader", "--format=%A %j %Z %o"]).splitlines()
        left = sorted({row.split()[0] for row in rows if word in row})
        if left:
            cluster.admin(["scancel", *left])
