"""Slurm's answers through a wrapper of the site: more lines, other line ends, forms, numbers and statuses."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from paislurm.backends.base import Accepted, JobId
from paislurm.backends.runner import Completed
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.backends.slurm.output import accounting_rows, queue_rows
from paislurm.backends.slurm.steps import allocations
from paislurm.translator.errors import RejectedError, UnreachableError

NOTICE = "NOTE: maintenance on Monday\n42 nodes are idle\n"
REFUSED = "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n"
LIMITED = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n"


@pytest.fixture(params=["UTC", "Asia/Tokyo"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def answering(stdout: str, status: int = 0, stderr: str = "") -> SlurmBackend:
    return SlurmBackend(Mock(run=Mock(return_value=Completed(status=status, stdout=stdout, stderr=stderr))))


def submitted(backend: SlurmBackend) -> Accepted:
    return backend._submitted(["sbatch"], backend._runner.run([], timeout=1))


@pytest.mark.parametrize(
    ("stdout", "stderr", "notes"),
    [
        ("123\n", "", ""),
        (f"{NOTICE}123\n", "", "NOTE: maintenance on Monday; 42 nodes are idle"),
        ("123;far\r\nbye\n", NOTICE, "NOTE: maintenance on Monday; 42 nodes are idle; bye"),
        (
            "123\n",
            "sbatch: 0: to partition b\nsbatch: 1: to partition b\nsbatch: warning: slow\n",
            "to partition b; warning: slow",
        ),
        ("123\n", "x" * 5000, "x" * 1000),
    ],
)
def test_what_sbatch_prints_beside_the_id_is_kept(stdout: str, stderr: str, notes: str) -> None:
    assert submitted(answering(stdout, 0, stderr)).notes == notes


@pytest.mark.parametrize(
    ("stdout", "status", "stderr", "expected"),
    [
        ("123\n", 0, "", "123"),
        ("123;far\n", 0, "", "123;far"),
        ("123", 0, "", "123"),
        ("123\r\n", 0, "", "123"),
        ("\n  123  \n\n", 0, "", "123"),
        ("Estimated cost: 3\n123\n", 0, "", "123"),
        ("123\nGood luck with job 123!\n", 0, "", "123"),
        (f"{NOTICE}123\n", 0, NOTICE, "123"),
        ("Submitted batch job 123\n", 0, "", "123"),
        ("Submitted batch job 123 on cluster far\r\n", 0, "", "123;far"),
        ("Submitted batch job 123\n123\n", 0, "", "123"),
        ("7\n123\n", 0, "", "several numbers: 7"),
        ("123\n7\n", 0, "", "several numbers: 123"),
        ("welcome\n", 0, "", "no job id: welcome"),
        ("", 0, "", "no job id: nothing"),
        ("1" * 40, 0, "", "no job id: 111"),
        ("123\n", 1, "quota: command not found\n", "failed with status 1, but printed a job id: 123"),
        ("123\n7\n", 2, "", "failed with status 2, but printed several numbers: 123"),
        ("", 0, REFUSED, RejectedError),
        (NOTICE, 0, REFUSED, RejectedError),
        ("7\n", 1, REFUSED, RejectedError),
        ("7\n", 1, LIMITED, "Socket timed out"),
        ("", 1, "sbatch: error: invalid partition\n", RejectedError),
    ],
)
def test_only_a_certain_number_is_the_job_id(
    stdout: str, status: int, stderr: str, expected: str | type[Exception]
) -> None:
    """The tag decides about others, as after a lost answer; a refusal by the controller is one in any case."""
    backend = answering(stdout, status, stderr)
    if expected is RejectedError:
        with pytest.raises(RejectedError):
            submitted(backend)
    elif isinstance(expected, str) and expected.startswith("123"):
        assert submitted(backend).job_id == expected
    else:
        with pytest.raises(UnreachableError, match=str(expected)):
            submitted(backend)


QUEUE = "7+0|a|PENDING|10|20|30|||||paislurm-1a||None\n7+1|a|RUNNING|10|20|30|n1||||paislurm-1a||Why | not\n"
ACCOUNTS = "JobID|JobName|State|ExitCode|Submit|Start|End|NodeList|Comment|Reason\n7|a|FAILED|3:0|10|20|30|n1||None\n"
STEPS = "7||||||10|20|10|node=2,gres/gpu=1|n[1-2]|a\n"
AROUND: list[Callable[[str], str]] = [
    lambda text: text,
    lambda text: NOTICE + text,
    lambda text: text + NOTICE,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.rstrip("\n"),
    lambda text: "|a|b|c|d|e|f|g|h|i|j|k|\n" + text,
    lambda text: "usage|of|your|project|today|is|42|percent|of|all|hours\n" + text,
    lambda text: text.replace("\n", "\n\n"),
    lambda text: "  " + text,
]


@pytest.mark.parametrize("wrapped", AROUND)
def test_rows_are_found_whatever_a_wrapper_adds(wrapped: Callable[[str], str]) -> None:
    assert queue_rows(wrapped(QUEUE)) == queue_rows(QUEUE) != []
    assert accounting_rows(wrapped(ACCOUNTS)) == accounting_rows(ACCOUNTS) != []
    assert allocations(wrapped(STEPS)) == allocations(STEPS) != []
    tags = answering(wrapped("7+0|PD|paislurm-1a|\n8|PD|other|\n"))
    assert tags.find(["paislurm-1a"]) == {"paislurm-1a": JobId("7")}


@pytest.mark.usefixtures("zone")
def test_times_are_read_though_the_environment_did_not_pass() -> None:
    """Slurm then prints them in the zone of the login node. Source: sacct(1), SLURM_TIME_FORMAT."""
    shown = {each: time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(each)) for each in (10, 20, 30)}
    for text, read in ((QUEUE, queue_rows), (ACCOUNTS, accounting_rows), (STEPS, allocations)):
        other = text
        for number, words in shown.items():
            other = other.replace(f"|{number}|", f"|{words}|")
        assert read(other.replace(f"|{shown[10]}|node", "|10|node")) == read(text) != []
    for unknown in ("Unknown", "N/A", "None", "Thursday", "2026-13-40T99:00:00"):
        (row,) = accounting_rows(ACCOUNTS.replace("|30|", f"|{unknown}|"))
        assert row.ended is None
