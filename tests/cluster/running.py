"""A cluster for tests: booted by the first process that needs it, and taken down by the last one."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cluster import sharing
from tests.cluster.cluster import Cluster
from tests.cluster.instance import BOOKWORM, ClusterError, default_instance
from tests.cluster.kinds import USUAL
from tests.cluster.packages import missing_packages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.kinds import Kind


@contextlib.contextmanager
def running(slurm: str = BOOKWORM, kind: Kind = USUAL) -> Iterator[Cluster]:
    """Have the running cluster of a Slurm and a kind; it is taken down at the end if it was booted for these tests.

    PAISLURM_KEEP_CLUSTER=1 leaves it up. Without a cluster the tests are skipped, or with
    PAISLURM_REQUIRE_CLUSTER=1 they fail.
    """
    cluster = Cluster(default_instance(slurm, kind))
    keep = os.environ.get("PAISLURM_KEEP_CLUSTER") == "1"
    with contextlib.ExitStack() as stack:
        try:
            check_machine()
            stack.enter_context(sharing.use(cluster.instance, cluster.up, cluster.down, keep=keep))
        except ClusterError as error:
            if os.environ.get("PAISLURM_REQUIRE_CLUSTER") == "1":
                raise
            pytest.skip(f"no cluster: {error}")
        yield cluster


@contextlib.contextmanager
def in_turn(item: pytest.Item, slurm: str = BOOKWORM, kind: Kind = USUAL) -> Iterator[None]:
    """Let tests of several processes share a cluster, but those that are marked `exclusive` have it to themselves."""
    marks = {mark: item.get_closest_marker(mark) is not None for mark in ("exclusive", "disruptive")}
    with contextlib.ExitStack() as stack:
        if sys.platform == "linux" and os.geteuid() == 0:
            with contextlib.suppress(ClusterError):
                stack.enter_context(sharing.turn(default_instance(slurm, kind), **marks))
        yield


def check_machine() -> None:
    if sys.platform != "linux":
        raise ClusterError("needs Linux")
    if os.geteuid() != 0:
        raise ClusterError("needs root")
    if missing := missing_packages():
        raise ClusterError(f"packages are missing, run tests/cluster/cluster.py install: {' '.join(missing)}")
