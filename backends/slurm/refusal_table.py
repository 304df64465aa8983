"""What sbatch says of a script that it does not take: about which options, and what to write instead."""

from __future__ import annotations

import re
from typing import NamedTuple


class Refusal(NamedTuple):
    """Name the sbatch options that a message is about (none: the message names it), and say what to do.

    `code` is that of the diagnostic. A `lasting` refusal stays: the words themselves are wrong. An account, a QOS or a
    partition may come back, with slurmdbd for one.
    """

    says: re.Pattern[str]
    options: tuple[str, ...]
    hint: str
    code: str = "E503"
    lasting: bool = False


LIMIT_REACHED = "E508"
"""The code of a refusal that ends by itself, when other jobs have left the queue."""


NODE_OPTIONS = ("nodes", "cpus-per-task", "mem", "gres")
"""What a message is about that no node has what is asked for; options that bound the nodes can be meant as well."""


def _refusal(says: str, options: str, hint: str, code: str = "E503") -> Refusal:
    return Refusal(re.compile(says, re.IGNORECASE), tuple(options.split()), hint, code)


def _wrong_word(says: str, hint: str) -> Refusal:
    return Refusal(re.compile(says, re.IGNORECASE), (), hint, lasting=True)


_OTHERS = """
    acctg-freq batch bb bbf begin cluster-constraint contiguous core-spec cores-per-socket cpu-freq deadline
    delay-boot dependency exclusive extra extra-node-info gpu-freq hint kill-on-invalid-dep licenses mail-type
    mail-user mcs-label mincpus network nice oversubscribe power prefer priority profile propagate reboot
    segment sockets-per-node spread-job stepmgr switches thread-spec threads-per-core tmp use-min-nodes wckey
"""
OTHER_OPTIONS = frozenset(_OTHERS.split())
"""Options of sbatch beside those that a job file cannot have raw; plugins of a site add more. Source: sbatch(1)."""
UNKNOWN_OPTION = re.compile(r"unrecognized option '--?([\w-]+)", re.IGNORECASE)
REFUSALS = (
    Refusal(UNKNOWN_OPTION, (), "this version of Slurm does not know the option", lasting=True),
    _wrong_word(r"invalid option -- '(\w)'", "this version of Slurm does not know the option"),
    _wrong_word(r"Invalid --([\w-]+) (?:specification|value)", "see sbatch(1) for what the option accepts"),
    _wrong_word(r"Invalid numeric value \S+ for --([\w-]+)", "see sbatch(1) for what the option accepts"),
    _refusal(
        r"Time limit specification required",
        "time",
        "the site wants a time limit: write `time: 2:00:00` under `extras.slurm`, or for all jobs "
        "`time: {default: 2:00:00}` into the site profile",
    ),
    _refusal(
        r"Requested time limit is invalid|Time limit.*exceed|PartitionTimeLimit",
        "time",
        "write a `time` under `extras.slurm` (or `time.default` into the site profile) of no more than the partition's "
        "limit, which `sinfo -o '%P %l'` shows",
    ),
    _refusal(
        r"No partition specified",
        "partition",
        "the site has no default partition: write `partition` under `extras.slurm`, or under `virtualClusters` of the "
        "site profile; `sinfo` lists them",
    ),
    _refusal(
        r"invalid partition|Multiple partition job request not supported",
        "partition",
        "`sinfo` lists the partitions; write one as `partition` under `extras.slurm`, or under `virtualClusters` of "
        "the site profile",
    ),
    _refusal(
        r"group not permitted to use this partition|Partition in DOWN state|Required partition not available"
        r"|Requested partition configuration not available",
        "partition",
        "`scontrol show partition NAME` says who may use it, how, and whether it is up; write another one as "
        "`partition` under `extras.slurm`",
    ),
    _refusal(
        r"Invalid account or account/partition",
        "account",
        "`sacctmgr show associations user=$USER` lists your accounts and the partitions they may use; write one as "
        "`account` under `extras.slurm`, or under `virtualClusters` of the site profile",
    ),
    _refusal(
        r"Invalid qos|Requested account has breached requested QOS",
        "qos",
        "`sacctmgr show associations user=$USER format=account,qos` lists yours; write one as `qos` under "
        "`extras.slurm`, or under `virtualClusters` or `priorities` of the site profile",
    ),
    _refusal(
        r"Memory (?:specification|required).*(?:can ?not be satisfied|not available)|Invalid memory specification",
        "mem",
        "no node has that much memory: write a smaller `memoryMB`; `sinfo -o '%N %m'` shows what they have, in MB",
    ),
    _refusal(
        r"GRES option unsupported",
        "gpus-per-task",
        "this Slurm gives GPUs by node alone: describe the nodes in a site profile (`partitions`), and they are asked "
        "for so",
    ),
    _refusal(
        r"generic resource \(gres\) specification|GRES specification|Invalid GRES"
        r"|Invalid Trackable RESource",
        "gres",
        "no node has such a resource; `sinfo -o '%N %G'` shows what they have: `gpus` and `nodeTypes` of the site "
        "profile say what GPUs are called",
    ),
    _refusal(
        r"CPU count (?:per node can ?not be satisfied|specification invalid)|Requested more tasks than available",
        "cpus-per-task",
        "write a smaller `cpu`; `sinfo -o '%N %c'` shows the CPUs of a node",
    ),
    _refusal(
        r"Invalid (?:preferred )?feature specification",
        "constraint",
        "`sinfo -o '%N %f'` shows the features of nodes; write them as `constraint` under `extras.slurm`, or under "
        "`nodeTypes` of the site profile",
    ),
    _refusal(
        r"reservation is (?:invalid|in use)|reservation not usable|Access denied to requested reservation",
        "reservation",
        "`scontrol show res` lists them with their users and times; write one as `reservation` under `extras.slurm`, "
        "or under `virtualClusters` of the site profile",
    ),
    _refusal(
        r"Requested nodes not in this partition",
        "nodelist partition",
        "`sinfo -N` lists the nodes by partition; change `nodelist` or `partition` under `extras.slurm`",
    ),
    _refusal(
        r"Invalid node name",
        "nodelist exclude",
        "`sinfo -N` lists the nodes; change `nodelist` or `exclude` under `extras.slurm`",
    ),
    _refusal(
        r"valid node count|Invalid node count|Node count specification invalid|More processors requested"
        r"|Job size specification needs to be provided",
        "nodes",
        "ask for fewer `instances`, or for another `partition` under `extras.slurm`; `sinfo -o '%P %D %c'` shows nodes "
        "and CPUs",
    ),
    _refusal(
        r"Requested operation not supported on this system",
        "",
        "under SchedulerType=sched/builtin Slurm takes no heterogeneous job, which has a component for each role: "
        "`scontrol show config` shows the type; write `scheduler: {type: builtin}` into the site profile, or "
        "`layout: shared` under `extras.slurm`",
    ),
    _refusal(
        r"Invalid license",
        "licenses",
        "`scontrol show licenses` lists them; write `options: [--licenses=NAME:1]` under `extras.slurm`",
    ),
    _refusal(
        r"Burst ?Buffer",
        "bb",
        "`scontrol show burst` shows what there is; write `options: [--bb=...]` under `extras.slurm`, or leave it out",
    ),
    _refusal(r"Invalid wckey", "wckey", "write `options: [--wckey=NAME]` under `extras.slurm`"),
    _refusal(r"Invalid mcs_label", "mcs-label", "write `options: [--mcs-label=NAME]` under `extras.slurm`"),
    _refusal(
        r"(?:Assoc|QOS)(?:Max|Grp)Submit",
        "account qos",
        "so many jobs of an account, or of a QOS, may be in the queue: wait for one of yours to end, or write another "
        "`account` or `qos` under `extras.slurm`",
        LIMIT_REACHED,
    ),
    _refusal(
        r"(?:Assoc|QOS)(?:Max|Grp)Wall",
        "time",
        "the account or the QOS allows less time: write a smaller `time` under `extras.slurm`",
    ),
    _refusal(r"(?:Assoc|QOS)(?:Max|Grp)GRES", "gres account qos", "the account or the QOS allows fewer: ask for less"),
    _refusal(
        r"(?:Assoc|QOS)(?:Max|Grp)(?:Cpu|Mem|Node|Billing)",
        "nodes cpus-per-task mem account qos",
        "the account or the QOS allows less: ask for fewer `instances`, or for less `cpu` or `memoryMB`",
    ),
    _refusal(
        r"violates accounting/QOS policy|MaxSubmit|Reached jobs per hour limit",
        "account qos",
        "a limit of the account or QOS is reached: fewer or smaller jobs at once, another `account` or `qos` under "
        "`extras.slurm`, or ask the site; `sacctmgr show qos` shows limits",
    ),
    _refusal(
        r"Requested (?:node|topology) configuration is not available|Required node not available",
        " ".join(NODE_OPTIONS),
        "no node of the partition has what is asked: change `instances`, `cpu`, `memoryMB` or `gpu`; "
        "`sinfo -o '%P %N %c %m %G'` shows what they have",
    ),
    _refusal(
        r"(?:failure|failed|invalid|incompatible|incomplete|missing|denied|not found).*plugin"
        r"|plugin.*(?:fail|invalid|incompatible|missing|denied|not found)",
        "",
        "the site's Slurm is at fault, not the job: show these words to its administrator",
    ),
)
"""What sbatch says of a script it does not take, special before general.

Source: observed on 22.05, 24.11 and 26.05, and the messages of libslurm there.
"""
