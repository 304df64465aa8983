"""The command lines of Slurm's programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.translator.files.reading import read_text

from ..batch_script import components

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ..base import JobId, Submission

TIMES = {"SLURM_TIME_FORMAT": "%s"}
"""Makes squeue and sacct print seconds since 1970, independent of the time zone. Source: sacct(1), ENVIRONMENT."""

QUEUE_FIELDS = {
    "id": "%i",
    "name": "%j",
    "state": "%T",
    "submit": "%V",
    "start": "%S",
    "end": "%e",
    "nodes": "%N",
    "partition": "%P",
    "account": "%a",
    "time": "%l",
    "comment": "%k",
    "command": "%o",
    "reason": "%r",
}
"""The columns of a queue query. For a component, `%i` is `100+1`. Source: squeue(1), --format."""

TAG_FIELDS = {"id": "%i", "state": "%t", "comment": "%k", "command": "%o"}
"""The columns of a search by tag."""

OPTION_FIELDS = {"id": "%i", "time": "%l", "partition": "%P", "account": "%a", "qos": "%q", "nice": "%y"}
"""The columns of a query for changeable options, by their sbatch names. Source: squeue(1), --format."""

ACCOUNTING_FIELDS = (
    "JobID", "JobName", "State", "ExitCode", "Submit", "Start", "End", "NodeList", "Comment", "Reason",
)  # fmt: skip
"""Source: sacct(1), --format."""
_SUBMIT_LINE = ",SubmitLine"
"""The column with the command line of sbatch, the last one: since 21.08. It may contain `|`."""


def sbatch(submission: Submission, *, own_script: Path | None = None) -> list[str]:
    """Return the command that submits a script; `own_script` is its local path if the job folder is remote.

    Options on the command line apply to all components of a heterogeneous job, so all share one log, one tag and one
    working directory: on 22.05.8, `squeue -o '%k %Z'` shows the same comment and directory for each component, and
    no component has a separate log. `--exclude` works likewise.

    The tag is the comment, which squeue shows, and the last argument, which sacct shows in SubmitLine (since 21.08).
    sacct shows the comment only if the site stores it (AccountingStoreFlags=job_comment). See `identity`.
    """
    exclude = _with_own(submission.exclude, own_script or submission.script)
    return [
        "sbatch",
        "--parsable",
        *([f"--begin=now+{submission.delay}"] if submission.delay else []),
        *(["--hold"] if submission.held else []),
        *([f"--exclude={','.join(exclude)}"] if exclude else []),
        f"--output={_file_name(str(submission.log))}",
        f"--comment={submission.tag}",
        f"--chdir={submission.folder}",
        str(submission.script),
        str(submission.folder),
        str(submission.attempt),
        submission.tag,
    ]


def submits_retry(argv: Sequence[str]) -> bool:
    """Return whether an `sbatch` command submits an attempt after the first."""
    return argv[0] == "sbatch" and not is_test(argv) and argv[-2] != "0"


def sbatch_version() -> list[str]:
    """Return the command that prints the version, `slurm-wlm 22.05.8` or `slurm 26.05.5`, without the controller."""
    return ["sbatch", "--version"]


def _with_own(nodes: Sequence[str], script: Path) -> list[str]:
    """Add the nodes that the script itself excludes: `--exclude` of the command line replaces the script's."""
    if not nodes:
        return []
    text = read_text(script)
    own = [part.options["exclude"] for part in components(text) if part.options.get("exclude")]
    return list(dict.fromkeys((*own, *nodes)))


def _file_name(path: str) -> str:
    """Escape a path so that sbatch finds no file name pattern in it. Source: sbatch(1), FILENAME PATTERN.

    A backslash escapes the next character; a path with one is not a pattern. Source: observed on 22.05.
    """
    return path.replace("\\", "\\\\").replace("%", "\\%")


def number_of(job_id: JobId) -> str:
    """Return the number of a job, without its cluster."""
    return job_id.partition(";")[0]


def cluster_of(job_id: JobId) -> str:
    """Return the cluster of a job, "" for this machine's. Source: sbatch(1), --parsable."""
    return job_id.partition(";")[2]


def clusters(cluster: str) -> list[str]:
    """Return the option that selects a cluster, nothing for this machine's."""
    return [f"--clusters={cluster}"] if cluster else []


def scontrol(cluster: str) -> list[str]:
    """Return the start of an scontrol command for a cluster."""
    return ["scontrol", *clusters(cluster)]


def cluster_of_tag(tag: str) -> str:
    """Return the cluster in a tag: `far` for `paislurm-1a2b@far.1`."""
    return tag.partition(".")[0].partition("@")[2]


def squeue(ids: Sequence[JobId], columns: Mapping[str, str] = QUEUE_FIELDS) -> list[str]:
    """Return the query for jobs of one cluster in the controller, including recently ended ones (MinJobAge).

    For one job, query its number; for several, query all of the caller's jobs. The controller then searches only
    these; for a list of numbers it sends all jobs of all users. Source: squeue(1), --jobs and --user.

    Without `--local`, squeue also queries the clusters of the federation, one more call to the controller each time.
    It always queries the partitions too. Observed with sdiag on 22.05, 24.11 and 26.05.
    """
    cluster = cluster_of(ids[0])
    return [
        "squeue",
        "--noheader",
        "--states=all",
        *([f"--jobs={number_of(ids[0])}"] if len(ids) == 1 else ["--me"]),
        f"--format={'|'.join(columns.values())}",
        *clusters(cluster),
        *([] if any(is_federated(job_id) for job_id in ids) else ["--local"]),
    ]


def is_federated(job_id: JobId) -> bool:
    """Return whether a job may run on another cluster of a federation. Source: slurm.conf(5), MaxJobId: 26 bits."""
    return not job_id.isdecimal() or int(job_id) >> 26 > 0


def sinfo(nodes: str) -> list[str]:
    """Return the query for the states of nodes and the reasons, a line for each node and partition."""
    return ["sinfo", "--noheader", "--Node", f"--nodes={nodes}", "--format=%N %T %E"]


def sinfo_names(nodes: Iterable[str], cluster: str) -> list[str]:
    """Return the query for the names of nodes, a line for each node and partition, also of hidden partitions."""
    return ["sinfo", "--noheader", "--Node", "--all", f"--nodes={','.join(nodes)}", "--format=%N", *clusters(cluster)]


def sacct(ids: Iterable[JobId]) -> list[str]:
    """Return the accounting query for jobs of one cluster: a row for each component, no steps.

    For a requeued job, the row is its last run.
    """
    columns, wanted = ",".join(ACCOUNTING_FIELDS) + _SUBMIT_LINE, sorted(ids)
    numbers, cluster = ",".join(map(number_of, wanted)), cluster_of(wanted[0])
    return ["sacct", "--allocations", "--parsable2", f"--jobs={numbers}", f"--format={columns}", *clusters(cluster)]


def squeue_tags(cluster: str = "") -> list[str]:
    """Return the query for the comments and command lines of all of the caller's jobs that the controller knows."""
    columns = "|".join(TAG_FIELDS.values())
    return ["squeue", "--noheader", "--me", "--states=all", f"--format={columns}", *clusters(cluster)]


def sacct_tags(days: int, cluster: str = "") -> list[str]:
    """Return the query for the submit lines and comments of the caller's jobs of the last days."""
    return [
        "sacct",
        "--allocations",
        "--parsable2",
        f"--starttime=now-{days}days",
        f"--format=JobID,Comment{_SUBMIT_LINE}",
        *clusters(cluster),
    ]


def without_submit_line(argv: Sequence[str]) -> list[str]:
    """Return a query of sacct for a version before 21.08."""
    return [word.removesuffix(_SUBMIT_LINE) for word in argv]


def scrontab() -> list[str]:
    """Return the query for the caller's entries for recurring jobs. Source: its manual, section 1."""
    return ["scrontab", "-l"]


def scancel(job_ids: Sequence[JobId], name: str = "") -> list[str]:
    """Return the command that cancels jobs of one cluster with all their components, if they have this name."""
    named = [f"--name={name}"] if name else []
    return ["scancel", *clusters(cluster_of(job_ids[0])), *named, *map(number_of, job_ids)]


def scontrol_show_job(job_id: JobId) -> list[str]:
    """Return the query for a job's record, one line for each component, the leader's first."""
    return [*scontrol(cluster_of(job_id)), "--oneliner", "show", "job", number_of(job_id)]


def scontrol_show(what: str) -> list[str]:
    """Return the query for the `config`, or for every `partition`, `node` or `reservation`, each on one line.

    Slurm shows only what the user may see. Source: scontrol(1), show.
    """
    return ["scontrol", "--oneliner", "show", what]


def srun_mpi_list() -> list[str]:
    """Return the query for this machine's MPI plugins; it does not use the controller. Source: srun(1), --mpi."""
    return ["srun", "--mpi=list"]


def srun_probe(script: str, words: Sequence[str], *, wait: int, partition: str = "", account: str = "") -> list[str]:
    """Return the one-task job that runs a bash script with these words, on a node that is free in `wait` seconds.

    Source: srun(1), --immediate.
    """
    return [
        "srun",
        "--quiet",
        "--job-name=paislurm-probe",
        "--nodes=1",
        "--ntasks=1",
        "--mpi=none",
        "--time=2",
        f"--immediate={wait}",
        *([f"--partition={partition}"] if partition else []),
        *([f"--account={account}"] if account else []),
        "bash",
        "-c",
        script,
        "probe",
        *words,
    ]


def sacctmgr_accounts(user: str, cluster: str) -> list[str]:
    """Return the query for a user's accounts on a cluster, each with its QOS and limits.

    Source: sacctmgr(1), LIST/SHOW USER FORMAT OPTIONS.
    """
    columns = "DefaultAccount,Account,Partition,QOS,DefaultQOS,MaxJobs,MaxSubmit,MaxWall,MaxTRES,GrpTRES,GrpJobs"
    where = [f"users={user}", "withassoc", *([f"clusters={cluster}"] if cluster else [])]
    return ["sacctmgr", "--parsable2", "--readonly", "show", "users", *where, f"format={columns},GrpSubmit"]


def sacctmgr_qos() -> list[str]:
    """Return the query for the limits of all QOS. Source: sacctmgr(1), SHOW QOS FORMAT OPTIONS."""
    columns = "Name,Flags,MaxWall,MaxJobsPU,MaxSubmitPU,MaxTRES,MaxTRESPU,GrpTRES,GrpJobs,GrpSubmit"
    return ["sacctmgr", "--parsable2", "--readonly", "show", "qos", f"format={columns}"]


NODE_COLUMNS = ("NodeList", "Partition", "Available", "StateLong")
"""Source: sinfo(1), --Format."""


def sbatch_test_only() -> list[str]:
    """Return the command that prints when the script on its standard input would start, and submits nothing."""
    return ["sbatch", "--test-only"]


def is_test(argv: Sequence[str]) -> bool:
    """Return whether an `sbatch` command only tests."""
    return "--test-only" in argv


def sinfo_partitions(partitions: Sequence[str], cluster: str = "") -> list[str]:
    """Return the query for the states of nodes, a line for each node and partition. Without `partitions`, query all."""
    columns = ",".join(f"{column}:|" for column in NODE_COLUMNS)
    return [
        "sinfo", "--noheader", "--Node", *([f"--partition={','.join(partitions)}"] if partitions else []),
        f"--clusters={cluster}" if cluster else "--local", f"--Format={columns}",
    ]  # fmt: skip
