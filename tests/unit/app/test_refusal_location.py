"""Tests of the field of the job file that Slurm refuses."""

from __future__ import annotations

import pytest

from paislurm.backends.runner import Completed
from paislurm.backends.slurm.refusal_table import OTHER_OPTIONS
from paislurm.backends.slurm.refusals import failure
from paislurm.translator.app.submit.refusal_location import locate_refusal, with_suspects
from paislurm.translator.errors import Diagnostic, RejectedError
from paislurm.translator.protocol.raw_options import SBATCH
from paislurm.translator.reading.read import read

from ..cli.running import JOB

PARTITION = """\
sbatch: error: invalid partition specified: nope
sbatch: error: Batch job submission failed: Invalid partition name specified
"""
ACCOUNT = "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n"


def refused(stderr: str, more: str = "", job: str = JOB) -> Diagnostic:
    error = failure(["sbatch"], Completed(status=1, stdout="", stderr=stderr))
    assert isinstance(error, RejectedError)
    again = locate_refusal(error, read((job + more).encode(), file="job.yaml"))
    assert (again.options, again.stderr, again.status) == (error.options, stderr, 1)
    return again.diagnostics[0]


@pytest.mark.parametrize(
    ("stderr", "more", "path", "location"),
    [
        (PARTITION, "extras: {slurm: {partition: nope}}\n", "$.extras.slurm.partition", "job.yaml:15:29"),
        (
            PARTITION,
            "extras: {slurm: {partition: batch, taskRoles: {worker: {partition: nope}}}}\n",
            "$.extras.slurm.taskRoles.worker.partition",
            "job.yaml:15:68",
        ),
        (ACCOUNT, "defaults: {virtualCluster: mine}\n", "$.defaults.virtualCluster", "job.yaml:15:28"),
        (
            "sbatch: unrecognized option '--nope'\nTry \"sbatch --help\" for more information\n",
            "extras: {slurm: {options: [--hint=x, --nope=1]}}\n",
            "$.extras.slurm.options[1]",
            "job.yaml:15:38",
        ),
        (
            "sbatch: error: CPU count per node can not be satisfied\n",
            "",
            "$.taskRoles.worker.resourcePerInstance.cpu",
            "job.yaml:11:32",
        ),
        ("sbatch: error: QOSMaxSubmit\n", "", "", "None"),
        ("sbatch: error: what nobody has seen before\n", "extras: {slurm: {qos: q}}\n", "", "None"),
    ],
)
def test_the_diagnostic_locates_the_refused_field(stderr: str, more: str, path: str, location: str) -> None:
    diagnostic = refused(stderr, more)
    assert (diagnostic.path, str(diagnostic.location)) == (path, location)
    assert "or the cause is" not in diagnostic.hint


def test_the_hint_lists_other_possible_fields() -> None:
    diagnostic = refused(ACCOUNT, "extras: {slurm: {account: a, taskRoles: {worker: {account: b}}}}\n")
    assert diagnostic.path == "$.extras.slurm.account"
    assert diagnostic.hint.endswith("; or the cause is $.extras.slurm.taskRoles.worker.account")


NO_NODE = "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"


def suspected(more: str, stderr: str = NO_NODE) -> Diagnostic:
    error = failure(["sbatch"], Completed(status=1, stdout="", stderr=stderr))
    assert isinstance(error, RejectedError)
    document = read((JOB + more).encode(), file="job.yaml")
    return locate_refusal(with_suspects(error, document), document).diagnostics[0]


@pytest.mark.parametrize(
    ("slurm", "named", "path", "location"),
    [
        ('{exclude: "n[1-4]"}', "exclude", "$.extras.slurm.exclude", "15:27"),
        ("{constraint: fast, time: 5}", "constraint", "$.extras.slurm.constraint", "15:30"),
        ("{nodelist: n1, exclude: n1}", "exclude or --nodelist", "$.extras.slurm.exclude", "15:41"),
        (
            "{taskRoles: {worker: {reservation: r}}}",
            "reservation",
            "$.extras.slurm.taskRoles.worker.reservation",
            "15:52",
        ),
        ("{options: [--hint=x, --mincpus=99]}", "mincpus", "$.extras.slurm.options[1]", "15:38"),
    ],
)
def test_options_that_limit_nodes_are_suspected_first(slurm: str, named: str, path: str, location: str) -> None:
    diagnostic = suspected(f"extras: {{slurm: {slurm}}}\n")
    assert diagnostic.message.startswith(f"sbatch refuses --{named} or --nodes or --cpus-per-task or --mem or --gres: ")
    assert (diagnostic.path, str(diagnostic.location)) == (path, f"job.yaml:{location}")
    assert diagnostic.hint.startswith(f"`{named.partition(' ')[0]}` ")
    less = "else request less: `instances`, `cpu`, `memoryMB` or `gpu`"
    assert f"the nodes of the job: check this first; {less}" in diagnostic.hint
    assert "taskRoles.worker.resource" not in diagnostic.hint


def test_the_hint_counts_further_possible_fields() -> None:
    roles = "".join(f"{name}: {{exclude: n1}}, " for name in "abcdef")
    hint = suspected(f"extras: {{slurm: {{exclude: n1, taskRoles: {{{roles}}}}}}}\n").hint
    assert hint.count("$.") == 4
    assert hint.endswith(" and 2 more")


def test_other_options_are_not_suspected() -> None:
    assert suspected("").message.startswith("sbatch refuses --nodes or --cpus-per-task or --mem or --gres: ")
    other = suspected("extras: {slurm: {exclude: n1}}\n", ACCOUNT)
    assert other.message.startswith("sbatch refuses --account: ")
    assert "`exclude`" not in other.hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tme", "; did you mean `--time`? Write `time` under `extras.slurm`"),
        ("nodess", "did you mean `--nodes`? A job file cannot set it: " + SBATCH["nodes"]),
        ("licences", "; did you mean `--licenses`?"),
        ("qqqqq", "does not have the option"),
    ],
)
def test_the_hint_suggests_a_similar_option(name: str, hint: str) -> None:
    diagnostic = refused(
        f"sbatch: unrecognized option '--{name}=5'\n", f"extras: {{slurm: {{options: [--{name}=5]}}}}\n"
    )
    assert diagnostic.path == "$.extras.slurm.options[0]"
    assert diagnostic.hint.endswith(hint)


def test_suggested_options_are_allowed_in_job_files() -> None:
    assert "begin" in OTHER_OPTIONS
    assert OTHER_OPTIONS.isdisjoint(SBATCH)


JOB_V1 = """\
{
  "jobName": "demo",
  "image": "x",
  "virtualCluster": "mine",
  "taskRoles": [{"name": "a", "taskNumber": 1, "cpuNumber": 99, "memoryMB": 100, "gpuNumber": 0, "command": "true"}],
  "extras": {"slurm": {"partition": "nope"}}
}
"""


@pytest.mark.parametrize(
    ("stderr", "path", "location"),
    [
        (PARTITION, "$.extras.slurm.partition", "job.yaml:6:37"),
        (ACCOUNT, "$.virtualCluster", "job.yaml:4:21"),
        (
            "sbatch: error: CPU count per node can not be satisfied\n",
            "$.taskRoles[0].cpuNumber",
            "job.yaml:5:61",
        ),
    ],
)
def test_the_diagnostic_locates_a_field_of_protocol_v1(stderr: str, path: str, location: str) -> None:
    diagnostic = refused(stderr, job=JOB_V1)
    assert (diagnostic.path, str(diagnostic.location)) == (path, location)
