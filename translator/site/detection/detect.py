"""Detection: from Slurm's output to the site, remarks and gaps."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from ..containers import Containers
from ..devices import Gpus
from ..profile import Address, Ports, Site, Times, VirtualCluster
from .accounts import Accounts
from .answers import Detection, parse
from .node_shapes import with_nodes
from .remarks import gaps, remarks

if TYPE_CHECKING:
    from .answers import Answers, Parsed

_MAX_KILL_WAIT = 24 * 3600
_ROOT = "root"
_VIRTUAL_CLUSTER = "default"
"""The virtual cluster of jobs that name none. Source: PAI protocol v2, defaults.virtualCluster."""


def detect(answers: Answers) -> Detection:
    """Return the detected site."""
    parsed = parse(answers)
    site = _site(parsed, answers)
    return Detection(
        site=site, remarks=remarks(parsed, site, answers.user), gaps=gaps(answers, parsed), runtimes=answers.runtimes
    )


def _site(parsed: Parsed, answers: Answers) -> Site:
    config = parsed.config
    # Root's permissions do not apply to the users for whom root writes a profile.
    own = parsed.accounts if "associations" in config.enforced and answers.user != _ROOT else Accounts()
    partitions = [with_nodes(record, parsed.nodes) for record in parsed.partitions]
    return Site.of(
        name=config.name if config.name.isprintable() else "",
        slurm_version=config.version,
        scheduler=config.scheduler,
        partitions={partition.name: partition for partition in partitions},
        default_partition=_default(parsed),
        virtual_clusters=_virtual_clusters(parsed),
        accounts=own.accounts or None,
        default_account=own.default or None,
        qos=own.qos or None if "qos" in config.enforced else None,
        reservations=parsed.reservations,
        require_time_limit=config.requires_time,
        gpus=Gpus.of(vendor="amd") if parsed.are_amd else Gpus.of(),
        address=Address() if _resolves(parsed, answers) else Address("node-address"),
        infiniband=parsed.probe.infiniband(answers.sysfs) if parsed.probe else None,
        containers=Containers.of(installed=parsed.probe.runtimes if parsed.probe else None),
        ports=parsed.ports or Ports.of(),
        time=_times(config.kill_wait),
        mpi=parsed.mpi,
    ).known()


def _times(kill_wait: int) -> Times:
    return Times.of(kill_wait=timedelta(seconds=min(kill_wait, _MAX_KILL_WAIT))) if kill_wait else Times.of()


def _resolves(parsed: Parsed, answers: Answers) -> bool:
    """Whether names of nodes resolve on a node, where scripts use them, or else on this machine."""
    return parsed.probe.resolves if parsed.probe else answers.node_resolves is not False


def _default(parsed: Parsed) -> str | None:
    return next((record.name for record in parsed.partitions if record.is_default), None)


def _virtual_clusters(parsed: Parsed) -> dict[str, VirtualCluster]:
    """Map jobs without a virtual cluster to the default partition, unless a partition has that name."""
    partition = _default(parsed)
    if partition is None or any(record.name == _VIRTUAL_CLUSTER for record in parsed.partitions):
        return {}
    return {_VIRTUAL_CLUSTER: VirtualCluster.of(partition=partition)}
