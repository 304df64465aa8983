"""An account, a QOS and partitions with limits, which the tests alone have that ask for them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.instance import ALICE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.cluster import Cluster

MADE = (
    "sacctmgr add account tight cluster=paislurm",
    f"sacctmgr add user {ALICE} account=tight",
    "sacctmgr add qos narrow",
    "sacctmgr modify qos narrow set maxtresperuser=gres/gpu=2 maxwall=20 flags=DenyOnLimit",
    (
        f"sacctmgr modify user {ALICE} where account=tight set "
        "qos+=narrow maxsubmitjobs=2 maxjobs=2 maxtres=cpu=8 maxwall=30"
    ),
    "scontrol update partitionname=urgent allowaccounts=extra",
    "scontrol update partitionname=pair maxnodes=1",
)
UNMADE = (
    "scontrol update partitionname=pair maxnodes=UNLIMITED",
    "scontrol update partitionname=urgent allowaccounts=ALL",
    f"sacctmgr delete user {ALICE} account=tight",
    "sacctmgr delete account tight",
    "sacctmgr delete qos narrow",
)


@contextmanager
def limits(cluster: Cluster) -> Iterator[None]:
    """Make them, and take them away again; nobody else may use the cluster meanwhile."""
    try:
        for command in MADE:
            administer(cluster, command)
        yield
    finally:
        cluster.cancel_all()
        cluster.wait_idle()
        for command in UNMADE:
            administer(cluster, command)


def administer(cluster: Cluster, command: str) -> None:
    program, *words = command.split()
    cluster.admin([program, *(["--immediate", "--quiet"] if program == "sacctmgr" else []), *words])
