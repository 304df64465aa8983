"""Slurm's reasons why a job waits: the meaning of each, and a remedy.

Source: job_reason_codes.html and resource_limits.html of Slurm's documentation; squeue(1), JOB REASON CODES;
libslurm 22.05 and later.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from msgspec import Struct

Kind = Literal["turn", "later", "stuck", "unknown"]


class Reason(Struct, frozen=True, kw_only=True):
    """Hold the meaning of a reason and a remedy.

    `turn`: the job starts when its turn comes. `later`: it starts after another event, without any action. `stuck`:
    it does not start until someone acts. `unknown`: the reason is not in this table. In texts, JOBID stands for the
    job's number and JOBNAME for its name.
    """

    kind: Kind
    meaning: str
    help: str


_WAIT = "wait: it starts by itself"
_ASK = "ask the administrators of the cluster"
_LIMIT = "see the limits with `sacctmgr show association` and `sacctmgr show qos`"
_SHORTER = "set a shorter time limit (`extras.slurm.time`), or request less, to start earlier"
_CANCEL = "cancel the job, and submit it again"
_ADMIN = "wait for the repair, or cancel the job and set another partition in `extras.slurm`"

_ROWS: tuple[tuple[str, Kind, str, str], ...] = (
    ("Resources", "turn", "other jobs use the resources that it requests", _SHORTER),
    ("Priority", "turn", "jobs with a higher priority are ahead of it", f"{_SHORTER}; see the priorities with `sprio`"),
    (
        "None",
        "turn",
        "only the backfill scheduler starts jobs with a component for each role; it runs",
        f"{_WAIT}; with one allocation for all roles (`extras.slurm.layout: shared`) it can start without backfill",
    ),
    ("WaitingForScheduling|SchedDefer", "turn", "the scheduler has not considered it yet", _WAIT),
    ("Cleaning", "turn", "Slurm is cleaning up an earlier run of it", _WAIT),
    ("Prolog|PrologSlurmctld", "turn", "the site's prolog program is running", _WAIT),
    ("BurstBufferResources|BurstBufferStageIn", "later", "it waits for the burst buffer", _WAIT),
    ("BurstBufferOperation", "stuck", "the burst buffer reported a failure", _ASK),
    ("Dependency", "later", "it waits for other jobs (--dependency)", "see which with `scontrol show job JOBID`"),
    (
        "DependencyNeverSatisfied",
        "stuck",
        "a job that it depends on did not end as required",
        f"{_CANCEL} without that dependency",
    ),
    ("BeginTime", "later", "its earliest start time has not come", "see the time with `scontrol show job JOBID`"),
    ("JobArrayTaskLimit|FedJobLock", "turn", "it waits for other parts of the same job", _WAIT),
    (
        "Licenses",
        "later",
        "the licenses that it requests are in use",
        "see their number with `scontrol show licenses`",
    ),
    ("Reservation", "later", "its reservation has not started", "see its start with `scontrol show reservation`"),
    (
        "ReservationDeleted|ResvDel.*",
        "stuck",
        "its reservation has been deleted",
        f"{_CANCEL} without that reservation",
    ),
    ("JobHeldUser", "stuck", "its user holds it", "release it with `paislurm update JOBNAME --release`"),
    ("JobHeldAdmin", "stuck", "an administrator holds it", f"{_ASK}: only they can release it"),
    ("JobHoldMaxRequeue|.*requeued.* held.*", "stuck", "its start failed, and Slurm holds it", f"{_ASK}, or cancel it"),
    ("JobLaunchFailure|SystemFailure", "stuck", "its start failed", _ASK),
    ("DeadLine", "stuck", "it can no longer end before its deadline", f"{_CANCEL} without --deadline"),
    (
        "ReqNodeNotAvail",
        "later",
        "a node that it needs is down, drained, or reserved (perhaps for maintenance)",
        "see why with `sinfo -R` and `scontrol show reservation`; set a time limit that ends before the reservation",
    ),
    (
        "Nodes required for job are.*",
        "later",
        "the nodes that could run it are down, drained, or reserved for partitions with a higher priority",
        "see which are down with `sinfo -R`; try another partition in `extras.slurm`",
    ),
    ("NodeDown|FrontEndDown", "later", "a node that it needs is down", _ADMIN),
    ("PartitionDown|PartitionInactive", "later", "its partition starts no jobs now", _ADMIN),
    (
        "PartitionConfig",
        "stuck",
        "its partition does not allow its request: the nodes, their sizes, or the user",
        f"compare `scontrol show partition` with `paislurm plan`; then {_CANCEL} with a smaller request or elsewhere",
    ),
    (
        "PartitionNodeLimit|Partition(Max|Min)Nodes",
        "stuck",
        "it requests more or fewer nodes than its partition allows, or than work there",
        f"see the limit with `scontrol show partition`; {_CANCEL} within it, or in another partition",
    ),
    (
        "PartitionTimeLimit",
        "stuck",
        "its time limit exceeds that of its partition",
        f"see the limits with `sinfo -o '%P %l'`; {_CANCEL} with a lower `extras.slurm.time`",
    ),
    (
        "BadConstraints",
        "stuck",
        "no nodes have the features that it requests",
        f"list the features with `sinfo -o '%f %N'`; {_CANCEL} with another `extras.slurm.constraint`",
    ),
    ("InvalidAccount", "stuck", "its account is no longer valid", f"{_CANCEL} with another `extras.slurm.account`"),
    ("InvalidQOS", "stuck", "its QOS is no longer valid", f"{_CANCEL} with another `extras.slurm.qos`"),
    (
        "(Account|QOS)NotAllowed",
        "stuck",
        "its partition does not allow its account or QOS",
        f"see the allowed ones with `scontrol show partition`; {_CANCEL} elsewhere",
    ),
    (
        "QOSUsageThreshold",
        "later",
        "its account has used more than its QOS allows",
        f"wait until its usage decays, or {_ASK}",
    ),
    ("QOSTimeLimit|AssociationTimeLimit", "stuck", "its time limit exceeds that of its account or QOS", _LIMIT),
    ("AccountingPolicy", "later", "a limit of its account or QOS is reached", _LIMIT),
    ("QOSMin.*", "stuck", "it requests less than its QOS requires{of}", f"{_LIMIT}; {_CANCEL} with a larger request"),
    (
        "(Assoc|QOS)Max(?!Jobs|SubmitJob|.*PerUser).*|MaxMemPerLimit",
        "stuck",
        "it requests more than {whose} allows for one job{of}",
        f"{_LIMIT}; {_CANCEL} with a smaller request",
    ),
    (
        "(Assoc|QOS)Grp.*(?<!Run)Minutes(Limit)?",
        "stuck",
        "the remaining budget of {whose} is too small for this job{of}",
        f"{_LIMIT}; {_ASK} for more, or use another account",
    ),
    (
        "(Assoc|QOS)Grp.*|AssocMax.*|Association(Job|Resource)Limit",
        "later",
        "the jobs of {whose} together have reached their limit{of}",
        f"wait until some of them end; {_LIMIT}",
    ),
    (
        "QOSMax.*|QOS(Job|Resource)Limit|Max.*PerAccount",
        "later",
        "the jobs of its user or account together have reached the limit of its QOS{of}",
        f"wait until some of them end; {_LIMIT}",
    ),
)

_TABLE = tuple((row[0], Reason(kind=row[1], meaning=row[2], help=row[3])) for row in _ROWS)
_UNKNOWN = Reason(kind="unknown", meaning="", help=f"see details with `scontrol show job JOBID`, or {_ASK}")

_THINGS = {
    "GRES": "GPUs and other gres", "Cpu": "CPUs", "CPU": "CPUs", "Mem": "memory", "Node": "nodes", "SubmitJob": "jobs",
    "Jobs": "jobs", "Wall": "time", "Billing": "billing units", "License": "licenses", "BB": "burst buffers",
    "Energy": "energy",
}  # fmt: skip
"""The resource of a limit, by the part of the code that names it."""

_HELD = re.compile(r"^JobHeld|^JobHold| held\b")
"""Codes of a job that waits until someone releases it."""


def code_of(reason: str) -> str:
    """Return the code of a reason without its details: `ReqNodeNotAvail, UnavailableNodes:n1`."""
    return reason.partition(",")[0].replace("_", " ").strip()


def is_held(reason: str) -> bool:
    """Return whether a user, an administrator or Slurm holds the job."""
    return _HELD.search(code_of(reason)) is not None


@lru_cache(maxsize=256)
def explained(reason: str) -> Reason:
    """Return the meaning of a reason; details after its code have no effect."""
    code = code_of(reason)
    found = next((row for pattern, row in _TABLE if re.fullmatch(pattern, code)), _UNKNOWN)
    if "{" not in found.meaning:
        return found
    thing = next((what for part, what in _THINGS.items() if part in code), "")
    whose = "its QOS" if code.startswith("QOS") else "its account"
    meaning = found.meaning.format(whose=whose, of=f" ({thing})" if thing else "")
    return Reason(kind=found.kind, meaning=meaning, help=found.help)
