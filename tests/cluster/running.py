"""A cluster for tests: booted by the first process that needs it, and taken down by the last one."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import pytest

from tests.cluster import horovod, sharing
from tests.cluster.cluster import Cluster
from tests.cluster.held import NOT_BOOTED, unfit
from tests.cluster.instance import ClusterError, default_instance, require_privilege
from tests.cluster.kinds import OWN, USUAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.kinds import Kind


@contextlib.contextmanager
def running(slurm: str = OWN, kind: Kind = USUAL) -> Iterator[Cluster]:
    """Have the running cluster of a Slurm and a kind; it is taken down at the end if it was booted for these tests.

    PAISLURM_KEEP_CLUSTER=1 leaves it up. Without a cluster the tests are skipped.
    """
    cluster = Cluster(default_instance(slurm, kind))
    keep = os.environ.get("PAISLURM_KEEP_CLUSTER") == "1"
    with contextlib.ExitStack() as stack:
        try:
            check(cluster)
            stack.enter_context(sharing.use(cluster.instance, cluster.up, cluster.down, keep=keep))
        except ClusterError as error:
            NOT_BOOTED[str(cluster.instance.folder)] = str(error)
            pytest.skip(str(error))
        yield cluster


@contextlib.contextmanager
def in_turn(item: pytest.Item, slurm: str = OWN, kind: Kind = USUAL) -> Iterator[None]:
    """Let tests of several processes share a cluster, but those that are marked `exclusive` have it to themselves."""
    marks = {mark: item.get_closest_marker(mark) is not None for mark in ("exclusive", "disruptive")}
    with contextlib.ExitStack() as stack:
        if not unfit():
            with contextlib.suppress(ClusterError):
                stack.enter_context(sharing.turn(default_instance(slurm, kind), **marks))
        yield


def check(cluster: Cluster) -> None:
    """Raise ClusterError if the cluster cannot boot here, or could not."""
    if why := NOT_BOOTED.get(str(cluster.instance.folder)):
        raise ClusterError(why)
    if why := unfit():
        raise ClusterError(why)
    if cluster.instance.slurm != OWN:
        require_privilege("further Slurms")


def require_horovod() -> None:
    """Skip the test that calls it if Horovod is not built."""
    if not horovod.is_built():
        pytest.skip(horovod.why_not())
