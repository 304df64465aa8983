"""Turn what a Slurm program says when it fails into an error: away, or no, and to which option."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from paislurm.translator.errors import BackendError, Fault, RejectedError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .runner import Completed

AWAY = re.compile(
    r"Unable to contact slurm controller"
    r"|Socket timed out"
    r"|Connection (?:refused|timed out|reset)"
    r"|Zero Bytes were transmitted"
    r"|Communication connection failure"
    r"|Message (?:send|receive) failure"
    r"|controller in standby mode"
    r"|controller not responding"
    r"|temporarily unable"
    r"|Protocol authentication error"
    r"|Munge encode failed|MUNGE"
    r"|Could not establish a configuration source"
    r"|Problem talking to the database"
    r"|persistent connection"
    r"|Unable to connect to database",
    re.IGNORECASE,
)
"""Messages of a controller, a database or an authentication that is away. Source: observed on 22.05."""

NOT_CONNECTED = "(connect failure)"
"""No connection to the controller, so that it cannot have got the request; "(send failure)" and "(receive failure)"
are other cases. Source: slurm_errno.h, SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR."""

NOT_CONFIGURED = "Could not establish a configuration source"
"""Slurm's programs are installed, and know of no cluster: none was asked. Source: observed on 22.05."""


class Refusal(NamedTuple):
    """Name the sbatch options that a message is about (none: the message names it), and say what to do."""

    says: re.Pattern[str]
    options: tuple[str, ...]
    hint: str


def _refusal(says: str, options: str, hint: str) -> Refusal:
    return Refusal(re.compile(says, re.IGNORECASE), tuple(options.split()), hint)


REFUSALS = (
    _refusal(r"unrecognized option '--?([\w-]+)", "", "this version of Slurm does not know the option"),
    _refusal(r"invalid option -- '(\w)'", "", "this version of Slurm does not know the option"),
    _refusal(r"Invalid --([\w-]+) specification", "", "see sbatch(1) for what the option accepts"),
    _refusal(
        r"invalid partition",
        "partition",
        "`sinfo` lists the partitions; name one in the job or the site profile",
    ),
    _refusal(
        r"Invalid account or account/partition",
        "account",
        "`sacctmgr show associations user=$USER` lists your accounts and the partitions they may use",
    ),
    _refusal(r"Invalid qos", "qos", "`sacctmgr show associations user=$USER format=account,qos` lists yours"),
    _refusal(
        r"Requested time limit is invalid|Time limit.*exceed|PartitionTimeLimit",
        "time",
        "ask for no more than the partition's limit, which `sinfo -o '%P %l'` shows",
    ),
    _refusal(
        r"Memory (?:specification|required).*(?:can ?not be satisfied|not available)",
        "mem",
        "no node has that much memory; `sinfo -o '%N %m'` shows what they have, in MB",
    ),
    _refusal(
        r"Invalid generic resource",
        "gres",
        "no node has such a resource; `sinfo -o '%N %G'` shows what they have",
    ),
    _refusal(r"CPU count per node can ?not be satisfied", "cpus-per-task", "`sinfo -o '%N %c'` shows CPUs a node"),
    _refusal(r"Invalid feature specification", "constraint", "`sinfo -o '%N %f'` shows the features of nodes"),
    _refusal(r"reservation is invalid|Access denied to requested reservation", "reservation", "`scontrol show res`"),
    _refusal(r"Invalid node name", "nodelist exclude", "`sinfo -N` lists the nodes"),
    _refusal(r"valid node count|Node count specification invalid|More processors requested", "nodes", ""),
    _refusal(r"Invalid license", "licenses", "`scontrol show licenses` lists them"),
    _refusal(r"Invalid wckey", "wckey", ""),
    _refusal(
        r"violates accounting/QOS policy|MaxSubmit",
        "account qos",
        "a limit of the account or QOS is reached: fewer jobs at once, or ask the site",
    ),
    _refusal(
        r"Requested node configuration is not available",
        "nodes cpus-per-task mem gres",
        "no node of the partition has what is asked; `sinfo -o '%P %N %c %m %G'` shows what they have",
    ),
)
"""What sbatch says of a script it does not take, special before general. Source: observed on 22.05."""


def failure(argv: Sequence[str], done: Completed) -> BackendError:
    """Return the error for a program that failed. No answer is never called a refusal."""
    words = slurm_words(done)
    if AWAY.search(done.stderr):
        return _away(argv, done, words)
    found = next(((refusal, match) for refusal in REFUSALS if (match := refusal.says.search(done.stderr))), None)
    options: tuple[str, ...] = ()
    if found is None:
        fault = Fault(code="E503", message=f"{argv[0]} refuses: {words}")
    else:
        refusal, match = found
        options = refusal.options or (match[1],)
        named = " or ".join(f"--{option}" for option in options)
        fault = Fault(code="E503", message=f"{argv[0]} refuses {named}: {words}", hint=refusal.hint)
    return RejectedError(fault, argv=tuple(argv), status=done.status, stderr=done.stderr, options=options)


def _away(argv: Sequence[str], done: Completed, words: str) -> UnreachableError:
    """Return the error for no answer. A request that was sent may have been taken though the answer was lost."""
    if NOT_CONFIGURED in done.stderr:
        fault = Fault(
            code="E506",
            message=f"Slurm is not set up on this machine: `{argv[0]}` finds no slurm.conf and no controller",
            hint="run this on a login node of the cluster, or use `--backend local` to run it on this machine",
        )
    elif NOT_CONNECTED in done.stderr:
        asked = "nothing was submitted" if argv[0] == "sbatch" else "nothing is lost"
        fault = Fault(code="E506", message=f"Slurm cannot be reached: {words}", hint=f"try again later: {asked}")
    else:
        unsure = "; it may have taken the job all the same" if argv[0] == "sbatch" else ""
        fault = Fault(
            code="E502",
            message=f"Slurm gives no answer: {words}{unsure}",
            hint="try again later: nothing is lost, and a job is not submitted twice",
        )
    return UnreachableError(fault, argv=tuple(argv), status=done.status, stderr=done.stderr)


def slurm_words(done: Completed) -> str:
    """Return what a program said, in one line, each thing once and without the program's name before it."""
    lines = (re.sub(r"^\w+: (?:error: |fatal: )?", "", line).strip() for line in done.stderr.splitlines())
    said = "; ".join(line for line in dict.fromkeys(lines) if line and not line.startswith("Try "))
    return said or f"exit status {done.status}, and no message"
