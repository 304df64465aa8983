"""Messages of sbatch for scripts that it refuses: the options that each is about, and a remedy."""

from __future__ import annotations

from typing import NamedTuple


class Refusal(NamedTuple):
    """Map a message of sbatch to the options that it is about (none: the message names it), and to a hint.

    `code` is the code of the diagnostic. A `lasting` refusal never goes away: the option or its value is wrong. An
    account, a QOS or a partition may come back, for example with slurmdbd.
    """

    pattern: str
    options: tuple[str, ...]
    hint: str
    code: str = "E503"
    lasting: bool = False


LIMIT_REACHED = "E508"
"""The code of a refusal that ends by itself when other jobs leave the queue."""


NODE_OPTIONS = ("nodes", "cpus-per-task", "mem", "gres")
"""The options that no node may satisfy; options that select nodes can be the cause as well."""


def _refusal(pattern: str, options: str, hint: str, code: str = "E503") -> Refusal:
    return Refusal(pattern, tuple(options.split()), hint, code)


def _wrong_word(pattern: str, hint: str) -> Refusal:
    return Refusal(pattern, (), hint, lasting=True)


REFUSALS = (
    _wrong_word(r"unrecognized option '--?([\w-]+)", "remove it: this version of Slurm does not have the option"),
    _wrong_word(r"invalid option -- '(\w)'", "remove it: this version of Slurm does not have the option"),
    _wrong_word(r"Invalid --([\w-]+) (?:specification|value)", "read the values of the option in sbatch(1)"),
    _wrong_word(r"Invalid numeric value \S+ for --([\w-]+)", "read the values of the option in sbatch(1)"),
    _refusal(
        r"Time limit specification required",
        "time",
        "write `time: 2:00:00` under `extras.slurm`, or for all jobs `time: {default: 2:00:00}` into the site profile: "
        "the site requires a time limit",
    ),
    _refusal(
        r"Requested time limit is invalid|Time limit.*exceed|PartitionTimeLimit",
        "time",
        "write a `time` under `extras.slurm` (or `time.default` into the site profile) within the partition's limit; "
        "see it with `sinfo -o '%P %l'`",
    ),
    _refusal(
        r"No partition specified",
        "partition",
        "write `partition` under `extras.slurm`, or under `virtualClusters` of the site profile: the site has no "
        "default partition; list them with `sinfo`",
    ),
    _refusal(
        r"invalid partition|Multiple partition job request not supported",
        "partition",
        "write `partition` under `extras.slurm`, or under `virtualClusters` of the site profile; list the partitions "
        "with `sinfo`",
    ),
    _refusal(
        r"group not permitted to use this partition|Partition in DOWN state|Required partition not available"
        r"|Requested partition configuration not available",
        "partition",
        "write another `partition` under `extras.slurm`; see its users, limits and state with "
        "`scontrol show partition NAME`",
    ),
    _refusal(
        r"(?:submission failed|allocation failure): Access/permission denied",
        "partition",
        "write another `partition` under `extras.slurm`, or submit on another machine: `scontrol show partition NAME` "
        "lists those from which it accepts jobs (AllocNodes), its users, and whether it requires a `reservation` "
        "(ReqResv)",
    ),
    _refusal(
        r"Invalid account or account/partition",
        "account",
        "write `account` under `extras.slurm`, or under `virtualClusters` of the site profile; list your accounts and "
        "their partitions with `sacctmgr show associations user=$USER`",
    ),
    _refusal(
        r"Invalid qos|Requested account has breached requested QOS",
        "qos",
        "write `qos` under `extras.slurm`, or under `virtualClusters` or `priorities` of the site profile; list yours "
        "with `sacctmgr show associations user=$USER format=account,qos`",
    ),
    _refusal(
        r"Memory (?:specification|required).*(?:can ?not be satisfied|not available)|Invalid memory specification",
        "mem",
        "write a smaller `memoryMB`; see the nodes' memory in MB with `sinfo -o '%N %m'`",
    ),
    _refusal(
        r"GRES option unsupported",
        "gpus-per-task",
        "describe the nodes in a site profile (`partitions`): this Slurm allocates GPUs only per node",
    ),
    _refusal(
        r"generic resource \(gres\) specification|GRES specification|Invalid GRES"
        r"|Invalid Trackable RESource",
        "gres",
        "set the names of GPUs in `gpus` and `nodeTypes` of the site profile; see the nodes' resources with "
        "`sinfo -o '%N %G'`",
    ),
    _refusal(
        r"CPU count (?:per node can ?not be satisfied|specification invalid)|Requested more tasks than available",
        "cpus-per-task",
        "write a smaller `cpu`; see the CPUs of nodes with `sinfo -o '%N %c'`. If `scontrol show partition` has "
        "MaxMemPerCPU, a job gets more CPUs for more memory: write a smaller `memoryMB`",
    ),
    _refusal(
        r"Invalid (?:preferred )?feature specification",
        "constraint",
        "write features of nodes as `constraint` under `extras.slurm`, or under `nodeTypes` of the site profile; see "
        "them with `sinfo -o '%N %f'`",
    ),
    _refusal(
        r"reservation is (?:invalid|in use)|reservation not usable|Access denied to requested reservation",
        "reservation",
        "write `reservation` under `extras.slurm`, or under `virtualClusters` of the site profile; list reservations "
        "with their users and times with `scontrol show res`",
    ),
    _refusal(
        r"Requested nodes not in this partition",
        "nodelist partition",
        "change `nodelist` or `partition` under `extras.slurm`; list the nodes by partition with `sinfo -N`",
    ),
    _refusal(
        r"Invalid node name",
        "nodelist exclude",
        "change `nodelist` or `exclude` under `extras.slurm`; list the nodes with `sinfo -N`",
    ),
    _refusal(
        r"valid node count|Invalid node count|Node count specification invalid|More processors requested"
        r"|Job size specification needs to be provided",
        "nodes",
        "request fewer `instances`, or another `partition` under `extras.slurm`; see nodes and CPUs with "
        "`sinfo -o '%P %D %c'`",
    ),
    _refusal(
        r"Requested operation not supported on this system",
        "",
        "write `scheduler: {type: builtin}` into the site profile, or `layout: shared` under `extras.slurm`: with "
        "SchedulerType=sched/builtin (see `scontrol show config`) Slurm accepts no heterogeneous job",
    ),
    _refusal(
        r"Invalid license",
        "licenses",
        "write `options: [--licenses=NAME:1]` under `extras.slurm`; list licenses with `scontrol show licenses`",
    ),
    _refusal(
        r"sleeping and retrying|Resource temporarily unavailable|MaxJobCount limit reached",
        "",
        "wait for jobs to leave the controller: it holds as many as it can (MaxJobCount of `scontrol show config`), "
        "also ended ones for some minutes (MinJobAge)",
        LIMIT_REACHED,
    ),
    _refusal(
        r"(?:Assoc|QOS)(?:Max|Grp)Submit",
        "account qos",
        "wait for one of your jobs to end, or write another `account` or `qos` under `extras.slurm`: the queue limit "
        "of the account or QOS is reached",
        LIMIT_REACHED,
    ),
    _refusal(
        r"(?:Assoc|QOS)(?:Max|Grp)Wall",
        "time",
        "write a smaller `time` under `extras.slurm`: the account or QOS allows less",
    ),
    _refusal(r"(?:Assoc|QOS)(?:Max|Grp)GRES", "gres account qos", "request fewer: the account or QOS has a limit"),
    _refusal(
        r"(?:Assoc|QOS)(?:Max|Grp)(?:Cpu|Mem|Node|Billing)",
        "nodes cpus-per-task mem account qos",
        "request fewer `instances`, or less `cpu` or `memoryMB`: the account or QOS allows less",
    ),
    _refusal(
        r"violates accounting/QOS policy|MaxSubmit|Reached jobs per hour limit",
        "account qos",
        "submit fewer or smaller jobs, write another `account` or `qos` under `extras.slurm`, or ask the site: a limit "
        "of the account or QOS is reached; see limits with `sacctmgr show qos`",
    ),
    _refusal(
        r"Requested (?:node|topology) configuration is not available|Required node not available",
        " ".join(NODE_OPTIONS),
        "request less (`instances`, `cpu`, `memoryMB`, `gpu`), or remove what restricts the nodes (`constraint`, "
        "`nodelist`, `exclude`): no node of the partition satisfies the request; see the nodes "
        "with `sinfo -o '%P %N %c %m %G'`",
    ),
    _refusal(
        r"(?:failure|failed|invalid|incompatible|incomplete|missing|denied|not found).*plugin"
        r"|plugin.*(?:fail|invalid|incompatible|missing|denied|not found)",
        "",
        "report this message to the site's administrator: the fault is in its Slurm, not in the job",
    ),
)
"""Messages of sbatch for scripts that it refuses, special before general.

Source: observed on 22.05, 24.11 and 26.05, and the messages of libslurm there.
"""
