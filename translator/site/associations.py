"""What a profile says about accounts and qualities of service."""

from __future__ import annotations

from typing import Annotated

from ..protocol.extras_slurm import SbatchText, Time
from ..validation.marks import Key
from ..validation.strict_model import Boolean, StrictModel, int_range
from .limits import Account, Amounts, Limits

Count = Annotated[int, int_range(0)]


class AmountsTable(StrictModel):
    """What is bounded; memory in MiB. Source: sacctmgr(1), MaxTRESPerJob."""

    nodes: Count | None = None
    cpus: Count | None = None
    memory_mb: Annotated[Count | None, Key("memoryMB")] = None
    gpus: Count | None = None

    def settings(self) -> Amounts:
        """Return the settings as the planner sees them."""
        return Amounts(nodes=self.nodes, cpus=self.cpus, memory_mib=self.memory_mb, gpus=self.gpus)


class Qos(StrictModel):
    """Limits of a quality of service. Source: sacctmgr(1), specifications for QOS."""

    max_jobs: Count | None = None
    max_submit_jobs: Count | None = None
    max_time: Time | None = None
    per_job: AmountsTable = AmountsTable()
    per_user: AmountsTable = AmountsTable()
    total: AmountsTable = AmountsTable()
    over_partition_time: Boolean = False
    over_partition_nodes: Boolean = False

    def limits(self) -> Limits:
        """Return the limits as the planner sees them."""
        return Limits(
            max_jobs=self.max_jobs,
            max_submit_jobs=self.max_submit_jobs,
            max_time=self.max_time,
            per_job=self.per_job.settings(),
            per_user=self.per_user.settings(),
            total=self.total.settings(),
            over_partition_time=self.over_partition_time,
            over_partition_nodes=self.over_partition_nodes,
        )


class AccountTable(StrictModel):
    """An account of the profile's user with its limits. Source: sacctmgr(1), specifications for associations."""

    max_jobs: Count | None = None
    max_submit_jobs: Count | None = None
    max_time: Time | None = None
    per_job: AmountsTable = AmountsTable()
    total: AmountsTable = AmountsTable()
    qos: list[SbatchText] | None = None
    default_qos: SbatchText | None = None

    def settings(self) -> Account:
        """Return the settings as the planner sees them."""
        limits = Limits(
            max_jobs=self.max_jobs,
            max_submit_jobs=self.max_submit_jobs,
            max_time=self.max_time,
            per_job=self.per_job.settings(),
            total=self.total.settings(),
        )
        return Account(limits=limits, qos=None if self.qos is None else tuple(self.qos), default_qos=self.default_qos)
