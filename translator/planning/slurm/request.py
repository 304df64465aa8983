"""What a job asks of a site whichever layout it gets: where each role goes, and how long the job may run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ..infiniband import infiniband_of, joined_constraint
from .target import partition_of, targets_of

if TYPE_CHECKING:
    from datetime import timedelta

    from ...job import Job, Role
    from ...site.partitions import Partition
    from ...site.profile import Site, VirtualCluster
    from ..images import ImagePlan
    from ..plan import Hazard, Mount
    from .target import SlurmTarget


class Asked(Struct, frozen=True, kw_only=True):
    """Hold what one role asks for, and where; `account` and `qos` are those that Slurm takes where it names none."""

    role: Role
    target: SlurmTarget
    partition: Partition
    account: str | None
    qos: str | None

    @property
    def named(self) -> dict[str, str]:
        """Return the options that are asked for, by name."""
        return dict(self.target.options)

    def constraint(self, site: Site) -> str:
        """Return the features that the nodes of the role must have, "" for none."""
        return joined_constraint(self.named.get("constraint"), infiniband_of(self.role, site)) or ""


class Request(Struct, frozen=True, kw_only=True):
    """Hold a job, its site, and what is decided before the layout.

    `sized` is the job with tasks of whole cores, as Slurm gives them out. `hazards` are the faults of the site's Slurm
    that the job would meet with a component for each role.
    """

    job: Job
    site: Site
    sized: Job
    asked: tuple[Asked, ...]
    limit: timedelta | None
    mounts: tuple[Mount, ...]
    images: tuple[ImagePlan, ...]
    hazards: tuple[Hazard, ...]

    @property
    def targets(self) -> list[SlurmTarget]:
        """Return where each role goes."""
        return [each.target for each in self.asked]

    @property
    def partitions(self) -> list[Partition]:
        """Return the partition of each role."""
        return [each.partition for each in self.asked]


def asked_of(job: Job, cluster: VirtualCluster, site: Site) -> tuple[Asked, ...]:
    """Return what each role asks for, with the site's defaults for what it does not name."""
    found = []
    for role, target in zip(job.roles, targets_of(job, cluster, site), strict=True):
        named = dict(target.options)
        account = named.get("account", site.default_account)
        known = (site.accounts or {}).get(account or "")
        qos = named.get("qos", known.default_qos if known else None)
        partition = partition_of(target, site)
        found.append(Asked(role=role, target=target, partition=partition, account=account, qos=qos))
    return tuple(found)
