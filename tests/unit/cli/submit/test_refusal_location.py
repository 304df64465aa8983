"""What Slurm refuses is traced back to the field of the job file that it is about."""

from __future__ import annotations

import pytest

from paislurm.backends.runner import Completed
from paislurm.backends.slurm.refusal_table import OTHER_OPTIONS
from paislurm.backends.slurm.refusals import failure
from paislurm.translator.cli.submit.refusal_location import locate_refusal
from paislurm.translator.errors import Diagnostic, RejectedError
from paislurm.translator.protocol.extras_slurm import RESERVED
from paislurm.translator.reading.read import read

from ..running import JOB

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
def test_the_field_is_named(stderr: str, more: str, path: str, location: str) -> None:
    diagnostic = refused(stderr, more)
    assert (diagnostic.path, str(diagnostic.location)) == (path, location)
    assert "or it is about" not in diagnostic.hint


def test_other_fields_that_can_be_meant_are_named() -> None:
    diagnostic = refused(ACCOUNT, "extras: {slurm: {account: a, taskRoles: {worker: {account: b}}}}\n")
    assert diagnostic.path == "$.extras.slurm.account"
    assert diagnostic.hint.endswith("; or it is about $.extras.slurm.taskRoles.worker.account")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tme", "; did you mean `--time`? Write `time` under `extras.slurm`"),
        ("nodess", "; did you mean `--nodes`? paislurm sets it itself"),
        ("licences", "; did you mean `--licenses`?"),
        ("qqqqq", "does not know the option"),
    ],
)
def test_the_option_that_may_be_meant_is_named(name: str, hint: str) -> None:
    diagnostic = refused(
        f"sbatch: unrecognized option '--{name}=5'\n", f"extras: {{slurm: {{options: [--{name}=5]}}}}\n"
    )
    assert diagnostic.path == "$.extras.slurm.options[0]"
    assert diagnostic.hint.endswith(hint)


def test_no_option_is_both_for_the_job_file_and_refused_there() -> None:
    assert "begin" in OTHER_OPTIONS
    assert OTHER_OPTIONS.isdisjoint(RESERVED)


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
def test_the_field_of_protocol_v1_is_named(stderr: str, path: str, location: str) -> None:
    diagnostic = refused(stderr, job=JOB_V1)
    assert (diagnostic.path, str(diagnostic.location)) == (path, location)
