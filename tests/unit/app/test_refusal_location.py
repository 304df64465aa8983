"""Tests of the field of the job file that Slurm refuses."""

from __future__ import annotations

import pytest

from paislurm.backends.runner import Completed
from paislurm.backends.slurm.refusals import failure
from paislurm.translator.app.submit.refusal_location import locate_refusal
from paislurm.translator.errors import Diagnostic, RejectedError
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
    other = "; or the cause is $.extras.slurm.taskRoles.worker.account"
    assert (diagnostic.path, diagnostic.hint[-len(other) :]) == ("$.extras.slurm.account", other)


NO_NODE = "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"


@pytest.mark.parametrize(
    ("slurm", "path", "location"),
    [
        ('{exclude: "n[1-4]"}', "$.extras.slurm.exclude", "15:27"),
        ("{nodelist: n1, exclude: n1}", "$.extras.slurm.exclude", "15:41"),
        ("{taskRoles: {worker: {reservation: r}}}", "$.extras.slurm.taskRoles.worker.reservation", "15:52"),
        ("{options: [--hint=x, --mincpus=99]}", "$.extras.slurm.options[1]", "15:38"),
        ("{time: 5}", "$.taskRoles.worker.instances", "8:16"),
    ],
)
def test_options_that_limit_nodes_are_suspected_first(slurm: str, path: str, location: str) -> None:
    diagnostic = refused(NO_NODE, f"extras: {{slurm: {slurm}}}\n")
    assert (diagnostic.path, str(diagnostic.location)) == (path, f"job.yaml:{location}")


def test_the_hint_counts_further_possible_fields() -> None:
    roles = "".join(f"{name}: {{exclude: n1}}, " for name in "abcdef")
    hint = refused(NO_NODE, f"extras: {{slurm: {{exclude: n1, taskRoles: {{{roles}}}}}}}\n").hint
    assert (hint.count("$."), hint[-11:]) == (4, " and 2 more")


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
        ("sbatch: error: CPU count per node can not be satisfied\n", "$.taskRoles[0].cpuNumber", "job.yaml:5:61"),
    ],
)
def test_the_diagnostic_locates_a_field_of_protocol_v1(stderr: str, path: str, location: str) -> None:
    diagnostic = refused(stderr, job=JOB_V1)
    assert (diagnostic.path, str(diagnostic.location)) == (path, location)
