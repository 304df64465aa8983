"""The benchmarks that need a cluster, once and small: that they can run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from tests.bench import idle, starting
from tests.cluster.kinds import OWN, USUAL

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster


@pytest.mark.usefixtures("image")
def test_starting_can_run(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "TURNS", 1)
    monkeypatch.setattr(starting, "JOBS", ((2, 1, 1.0),))
    monkeypatch.setattr(starting, "CONTAINED", (1, 2, 1.0))
    monkeypatch.setattr(starting, "Cluster", lambda: cluster)
    rows = list(starting.run())
    assert (len(rows), all(math.isfinite(row.ratio) for row in rows)) == (3, True)


@pytest.mark.usefixtures("cluster")
def test_idle_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the cluster of all tests, whose scheduler does not wait."""
    monkeypatch.setattr(idle, "CLUSTERS", ((OWN, USUAL),))
    monkeypatch.setattr(idle, "TURNS", 1)
    monkeypatch.setattr(idle, "INTERVAL", 0.1)
    rows = list(idle.run())
    assert (len(rows), all(math.isfinite(row.ratio) for row in rows)) == (2, True)
