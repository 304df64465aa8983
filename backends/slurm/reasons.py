"""Slurm's words for why a job waits: what each means, and what would help.

Source: job_reason_codes.html and resource_limits.html of Slurm's documentation; squeue(1), JOB REASON CODES; the words
are those of libslurm 22.05 and later.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from msgspec import Struct

Kind = Literal["turn", "later", "stuck", "unknown"]


class Reason(Struct, frozen=True, kw_only=True):
    """Say what a reason means and what would help.

    `turn`: the job starts when its turn comes; `later`: once something else has happened that nobody needs to see to;
    `stuck`: it does not start before somebody changes something; `unknown` words came after this table. JOBID stands
    for the job's number, JOBNAME for the name by which its user calls it.
    """

    kind: Kind
    meaning: str
    help: str


_WAIT = "wait: it starts by itself"
_ASK = "ask those who run the cluster"
_LIMIT = "`sacctmgr show association` and `sacctmgr show qos` show the limits"
_SHORTER = "a job with a shorter time limit (`extras.slurm.time`), or one that asks for less, may start earlier"
_CANCEL = "cancel the job, and submit it again"
_ADMIN = "what is down has to be fixed; or cancel the job and name another partition in `extras.slurm`"

_ROWS: tuple[tuple[str, Kind, str, str], ...] = (
    ("Resources", "turn", "what it asks for is in use by other jobs", _SHORTER),
    ("Priority", "turn", "jobs with a higher priority are before it in line", f"{_SHORTER}; `sprio` shows priorities"),
    (
        "None",
        "turn",
        "Slurm's backfill scheduler, which alone starts jobs with a component for each role, looks at them",
        f"{_WAIT}; with one allocation for all roles (`extras.slurm.layout: shared`) it can start without backfill",
    ),
    ("WaitingForScheduling|SchedDefer", "turn", "the scheduler has not yet come to it", _WAIT),
    ("Cleaning", "turn", "what an earlier run of it left is being cleaned up", _WAIT),
    ("Prolog|PrologSlurmctld", "turn", "the site's prolog program is running", _WAIT),
    ("BurstBufferResources|BurstBufferStageIn", "later", "it waits for the burst buffer", _WAIT),
    ("BurstBufferOperation", "stuck", "the burst buffer reported a failure", _ASK),
    ("Dependency", "later", "it waits for other jobs (--dependency)", "`scontrol show job JOBID` shows for which"),
    (
        "DependencyNeverSatisfied",
        "stuck",
        "a job that it depends on ended in another way than it waits for",
        f"{_CANCEL} without that dependency",
    ),
    ("BeginTime", "later", "its earliest start has not come", "`scontrol show job JOBID` says when that is"),
    ("JobArrayTaskLimit|FedJobLock", "turn", "it waits for other parts of the same job", _WAIT),
    (
        "Licenses",
        "later",
        "all licenses that it asks for are in use",
        "`scontrol show licenses` shows how many there are",
    ),
    ("Reservation", "later", "its reservation has not begun", "`scontrol show reservation` says when it does"),
    ("ReservationDeleted|ResvDel.*", "stuck", "its reservation is no more", f"{_CANCEL} without that reservation"),
    ("JobHeldUser", "stuck", "its user holds it", "`paislurm update JOBNAME --release` lets it go"),
    ("JobHeldAdmin", "stuck", "an administrator holds it", f"{_ASK}: only they can release it"),
    ("JobHoldMaxRequeue|.*requeued.* held.*", "stuck", "its start failed, and Slurm holds it", f"{_ASK}, or cancel it"),
    ("JobLaunchFailure|SystemFailure", "stuck", "its start failed", _ASK),
    ("DeadLine", "stuck", "it cannot end before its deadline any more", f"{_CANCEL} without --deadline"),
    (
        "ReqNodeNotAvail",
        "later",
        "a node that it needs is down, drained, or reserved: for a maintenance, perhaps",
        "`sinfo -R` and `scontrol show reservation` show why; a time limit that ends before the reservation helps",
    ),
    (
        "Nodes required for job are.*",
        "later",
        "the nodes that could run it are down, drained, or kept for partitions with a higher priority",
        "`sinfo -R` shows which are down and why; another partition in `extras.slurm` may be free",
    ),
    ("NodeDown|FrontEndDown", "later", "a node that it needs is down", _ADMIN),
    ("PartitionDown|PartitionInactive", "later", "its partition starts no jobs now", _ADMIN),
    (
        "PartitionConfig",
        "stuck",
        "its partition cannot give what it asks for: nodes, sizes, or who may use it",
        f"compare `scontrol show partition` with `paislurm plan`; then {_CANCEL}, asking for less or elsewhere",
    ),
    (
        "PartitionNodeLimit|Partition(Max|Min)Nodes",
        "stuck",
        "it asks for more, or fewer, nodes than its partition allows, or than are in order there",
        f"`scontrol show partition` has the limit; {_CANCEL} in the range, or in another partition",
    ),
    (
        "PartitionTimeLimit",
        "stuck",
        "its time limit is over that of its partition",
        f"`sinfo -o '%P %l'` shows the limits; {_CANCEL} with a lower `extras.slurm.time`",
    ),
    (
        "BadConstraints",
        "stuck",
        "no nodes have the features that it asks for",
        f"`sinfo -o '%f %N'` shows which there are; {_CANCEL} with another `extras.slurm.constraint`",
    ),
    ("InvalidAccount", "stuck", "its account is not valid any more", f"{_CANCEL} with another `extras.slurm.account`"),
    ("InvalidQOS", "stuck", "its QOS is not valid any more", f"{_CANCEL} with another `extras.slurm.qos`"),
    (
        "(Account|QOS)NotAllowed",
        "stuck",
        "its partition does not take jobs of its account or QOS",
        f"`scontrol show partition` shows whose it takes; {_CANCEL} elsewhere",
    ),
    (
        "QOSUsageThreshold",
        "later",
        "its account has used more than its QOS allows",
        f"wait until use decays, or {_ASK}",
    ),
    ("QOSTimeLimit|AssociationTimeLimit", "stuck", "its time limit is over what its account or QOS allows", _LIMIT),
    ("AccountingPolicy", "later", "a limit of its account or QOS is reached", _LIMIT),
    ("QOSMin.*", "stuck", "it asks for less than its QOS demands{of}", f"{_LIMIT}; {_CANCEL} asking for more"),
    (
        "(Assoc|QOS)Max(?!Jobs|SubmitJob|.*PerUser).*|MaxMemPerLimit",
        "stuck",
        "this one job asks for more than {whose} allows a job{of}",
        f"{_LIMIT}; {_CANCEL} asking for less",
    ),
    (
        "(Assoc|QOS)Grp.*(?<!Run)Minutes(Limit)?",
        "stuck",
        "the budget of {whose} is used up, or too small for this job{of}",
        f"{_LIMIT}; {_ASK} for more, or use another account",
    ),
    (
        "(Assoc|QOS)Grp.*|AssocMax.*|Association(Job|Resource)Limit",
        "later",
        "all jobs of {whose} together have reached their limit{of}",
        f"it starts when some of them end; {_LIMIT}",
    ),
    (
        "QOSMax.*|QOS(Job|Resource)Limit|Max.*PerAccount",
        "later",
        "the jobs of its user or account together have reached the limit of its QOS{of}",
        f"it starts when some of them end; {_LIMIT}",
    ),
)

_TABLE = tuple((re.compile(row[0]), Reason(kind=row[1], meaning=row[2], help=row[3])) for row in _ROWS)
_UNKNOWN = Reason(kind="unknown", meaning="", help=f"`scontrol show job JOBID` shows more, or {_ASK}")

_THINGS = {
    "GRES": "GPUs and other gres", "Cpu": "CPUs", "CPU": "CPUs", "Mem": "memory", "Node": "nodes", "SubmitJob": "jobs",
    "Jobs": "jobs", "Wall": "time", "Billing": "billing units", "License": "licenses", "BB": "burst buffers",
    "Energy": "energy",
}  # fmt: skip
"""What limits are of, by the part of a word that says so."""

_HELD = re.compile(r"^JobHeld|^JobHold| held\b")
"""Words for a job that waits until somebody releases it."""


def code_of(reason: str) -> str:
    """Return the word of a reason without what follows it: `ReqNodeNotAvail, UnavailableNodes:n1`."""
    return reason.partition(",")[0].replace("_", " ").strip()


def is_held(reason: str) -> bool:
    """Tell whether somebody, or Slurm itself, keeps the job from beginning."""
    return _HELD.search(code_of(reason)) is not None


@lru_cache(maxsize=256)
def explained(reason: str) -> Reason:
    """Return what a reason means; the words that come after its code have no effect."""
    code = code_of(reason)
    found = next((row for pattern, row in _TABLE if pattern.fullmatch(code)), _UNKNOWN)
    if "{" not in found.meaning:
        return found
    thing = next((what for part, what in _THINGS.items() if part in code), "")
    whose = "its QOS" if code.startswith("QOS") else "its account"
    meaning = found.meaning.format(whose=whose, of=f" ({thing})" if thing else "")
    return Reason(kind=found.kind, meaning=meaning, help=found.help)
