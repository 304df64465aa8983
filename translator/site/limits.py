"""What accounts and qualities of service allow their users, as the planner sees it. Memory in MiB."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ..lazy import dataclass

if TYPE_CHECKING:
    from datetime import timedelta


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """Bound what jobs have; None is no bound. Source: sacctmgr(1), MaxTRESPerJob, MaxTRESPerUser and GrpTRES."""

    nodes: int | None = None
    cpus: int | None = None
    memory_mib: int | None = None
    gpus: int | None = None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bound the jobs of an account or a quality of service.

    Slurm counts each component of a heterogeneous job as a job, newer ones not in the queue. `max_jobs` may run at a
    time, `max_submit_jobs` may be in the queue. `per_job` bounds one, `per_user` all of a user at a time, `total` all
    of all users. Jobs of a QOS may be let over the time limit, or the number of nodes, of their partition.
    Source: sacctmgr(1), limits of associations and of QOS.
    """

    max_jobs: int | None = None
    max_submit_jobs: int | None = None
    max_time: timedelta | None = None
    per_job: Amounts = field(default_factory=Amounts)
    per_user: Amounts = field(default_factory=Amounts)
    total: Amounts = field(default_factory=Amounts)
    over_partition_time: bool = False
    over_partition_nodes: bool = False


@dataclass(frozen=True, kw_only=True)
class Account:
    """Describe an account; `qos` are those that its jobs may name, None where they are not known."""

    limits: Limits = field(default_factory=Limits)
    qos: tuple[str, ...] | None = None
    default_qos: str | None = None
