"""What a test that failed left on its cluster: jobs that wait for what never comes, and nodes that take no jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.boot import SERVING

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster

FAILED = pytest.StashKey[bool]()


def cancel_if_failed(cluster: Cluster, item: pytest.Item, word: str) -> None:
    """If a test has failed, cancel the jobs whose working folder, name or command has a word.

    If it may take nodes away, give back those that take no jobs: the next tests wait for them.
    """
    if item.stash.get(FAILED, False):
        rows = cluster.admin(["squeue", "--noheader", "--format=%i %j %Z %o"]).splitlines()
        left = sorted({row.split()[0].partition("+")[0] for row in rows if word in row})
        if left:
            cluster.admin(["scancel", *left])
        if any(item.get_closest_marker(name) for name in ("exclusive", "disruptive")):
            for node in (node for node, state in cluster.node_states().items() if state not in SERVING):
                cluster.restore(node)
