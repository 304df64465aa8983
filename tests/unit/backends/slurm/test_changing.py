"""What scontrol is told of a job that is changed, and what its refusals are in words. Source: 22.05, 24.11, 26.05."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paislurm.backends.base import JobId
from paislurm.backends.runner import Completed
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.translator.errors import RejectedError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Scontrol:
    """A runner that keeps what it is told, and answers with an error if there is one."""

    def __init__(self, error: str = "") -> None:
        self.called: list[list[str]] = []
        self._error = error

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        """Keep the command line."""
        self.called.append(list(argv))
        return Completed(status=int(bool(self._error)), stdout="", stderr=self._error)


@pytest.mark.parametrize(
    ("job_id", "values", "said"),
    [
        ("7", {"time": "02:00:00"}, ["scontrol update JobId=7 TimeLimit=02:00:00"]),
        (
            "7",
            {"nice": "5", "qos": "long", "account": "lab", "partition": "gpu2", "retries": "3"},
            ["scontrol update JobId=7 Partition=gpu2 Account=lab QOS=long Nice=5"],
        ),
        ("7;far", {"time": "00:05:00"}, ["scontrol --clusters=far update JobId=7 TimeLimit=00:05:00"]),
        ("7", {"held": "yes"}, ["scontrol hold 7"]),
        ("7;far", {"held": "no"}, ["scontrol --clusters=far release 7"]),
        ("7", {"retries": "3"}, []),
    ],
)
def test_one_call_for_all_options_of_a_job(job_id: str, values: dict[str, str], said: list[str]) -> None:
    scontrol = Scontrol()
    SlurmBackend(scontrol).change(JobId(job_id), values, [{}])
    assert [" ".join(argv) for argv in scontrol.called] == said


@pytest.mark.parametrize(
    ("error", "values", "says", "helps"),
    [
        (
            "Access/permission denied for job 3\n",
            {"time": "02:00:00"},
            "Slurm refuses --time of job 3: Access/permission denied for job 3",
            "may lower the time limit of a job that runs",
        ),
        (
            "Job is no longer pending execution for job 3\n",
            {"time": "00:05:00", "partition": "gpu2"},
            "Slurm refuses --time and --partition of job 3: Job is no longer pending execution",
            "only while it waits",
        ),
        ("Access/permission denied for job 3\n", {"nice": "-5"}, "--nice of job 3", "0 or more"),
        (
            "Access/permission denied for job 3\nslurm_suspend error: Access/permission denied\n",
            {"held": "no"},
            "Slurm refuses --release of job 3",
            "only an administrator can release it",
        ),
        ("Invalid partition name specified for job 3\n", {"partition": "x"}, "--partition", "`sinfo` lists"),
        ("Invalid qos specification for job 3\n", {"qos": "x"}, "--qos", "sacctmgr show associations"),
        (
            "Job has already finished for job 3\nslurm_suspend error:Job has already finished\n",
            {"held": "yes"},
            "--hold of job 3: Job has already finished",
            "submit --again",
        ),
        ("something new\n", {"time": "1"}, "something new", "scontrol(1)"),
    ],
)
def test_a_refusal_in_plain_words(error: str, values: dict[str, str], says: str, helps: str) -> None:
    with pytest.raises(RejectedError) as caught:
        SlurmBackend(Scontrol(error)).change(JobId("3"), values)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E621"
    assert says in diagnostic.message
    assert helps in diagnostic.hint


def test_a_controller_that_is_away_has_refused_nothing() -> None:
    error = "slurm_update error: Unable to contact slurm controller (connect failure)\n"
    with pytest.raises(UnreachableError):
        SlurmBackend(Scontrol(error)).change(JobId("3"), {"time": "1"})
