"""A job that Slurm cancelled because a node could not begin it, and one that root cancelled: both are by user 0."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from paislurm.backends.slurm.job_states import BY_NOBODY
from paislurm.translator.monitor.facts import View
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Cancelled, Dependency, Ended, Retry, RetryPolicy

from .jobs import (
    CREATED,
    INTENT,
    NOW,
    SUBMITTED,
    FakeBackend,
    claim,
    job,
    job_folder,
    leave_result,
    observed,
    stepped,
    task,
)

PROLOG = "srun: error: Task launch for StepId=2.0 failed on node n2: Job prolog failed\n"
NOTHING_BEGAN = [
    task(index, state="STOPPED", started_at=None, ended_at=None, exit_status=None, node=None) for index in (0, 1)
]


def cancelled(**changes: Any) -> FakeBackend:
    """Return a backend that says that root, or slurmd, cancelled a job which had two nodes."""
    return FakeBackend(
        observed("CANCELLED", final=True, **({"raw_state": "CANCELLED by 0", "nodes": "n1,n2"} | changes))
    )


def said(folder: JobFolder, text: str) -> None:
    """Leave what srun said of a step."""
    (folder.attempt(0) / "srun").mkdir()
    (folder.attempt(0) / "srun" / "image-0.log").write_text(text)


def end(view: View) -> Retry | Ended:
    (record,) = [each for each in read(view.folder.journal).records if isinstance(each, Retry | Ended)]
    return record


@dataclass(frozen=True)
class Case:
    """A job, and its end: the code, the nodes to blame of one that is retried, and words of the reason."""

    code: int
    blamed: tuple[str, ...] | None = None
    words: str = ""
    seen: dict[str, Any] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    srun: str = ""
    log: str = ""
    claimed: int | None = None
    report: str = ""
    result: dict[str, Any] | None = None
    policy: dict[str, Any] = field(default_factory=dict)
    asked: int | None = None
    more: tuple[Cancelled, ...] = ()


INTERRUPTED = {"outcome": "interrupted", "exit_code": -210, "behaviour": "stop"}
UNLAUNCHED = {"outcome": "failed", "exit_code": -1402, "behaviour": "transient", "tasks": NOTHING_BEGAN}
BAD_PROLOG = {"n1": "Prolog error"}
NO_USER = {"raw_state": BY_NOBODY}
NO_CAUSE = "the job was ended from outside, and Slurm reports CANCELLED by no user without the cause"
SHORT = {"started": NOW - 60, "ended": NOW - 60}
CASES = {
    # Even if tasks had begun on other nodes, and though nobody is asked.
    "srun tells of the prolog": Case(-1403, ("n2",), "Job prolog failed", srun=PROLOG),
    "srun tells of the prolog, interrupted": Case(
        -1403, ("n2",), "Job prolog failed", srun=PROLOG, result=INTERRUPTED
    ),
    "srun tells of the prolog, unlaunched": Case(-1403, ("n2",), "Job prolog failed", srun=PROLOG, result=UNLAUNCHED),
    "a cancel by the user": Case(
        -210, lost=BAD_PROLOG, asked=0, more=(Cancelled(happened_at=NOW, attempt=0, user="alice", job_id="7"),)
    ),
    "a failure that the script reports": Case(
        255, lost=BAD_PROLOG, result={"outcome": "failed", "exit_code": 255, "behaviour": "unknown"}, asked=0
    ),
    "root": Case(-210),
    "root, with other faults of nodes": Case(-210, lost={"n1": "Kill task failed", "n2": "Epilog error"}),
    "another user": Case(-210, seen={"raw_state": "CANCELLED by 1000"}, lost=BAD_PROLOG),
    "never had a node": Case(-210, seen={"nodes": "", "started": None}, lost=BAD_PROLOG),
    # A node of it may be drained for another job's sake.
    "root, of a started job": Case(
        -210, lost=BAD_PROLOG, srun="srun: Force Terminated job\n", result=INTERRUPTED, asked=0
    ),
    # That is another thing, and stays as it is.
    "root, and the site retries": Case(-210, (), policy={"on_root_cancel": "retry"}),
    # Its node may be back in service, so that Slurm gives no reason.
    "Slurm": Case(-1402, (), "no user cancelled it", NO_USER),
    # A controller that was killed had it as a waiting job when its script ended.
    "Slurm, while its script ran": Case(-101, (), NO_CAUSE, NO_USER, claimed=NOW - 50),
    "Slurm, while its script ran, with a result": Case(
        -101, (), NO_CAUSE, NO_USER, claimed=NOW - 50, result=INTERRUPTED
    ),
    # Its controller had lost the first one, whose tasks ran for four seconds; root cancelled it at once.
    "Slurm, at its second start": Case(
        -1402, (), "started it again", SHORT, claimed=NOW - 64,
        result=INTERRUPTED | {"started_at": NOW - 64, "ended_at": NOW - 60},
    ),
    "root, with a script that may have begun with its short job": Case(
        -210, seen=SHORT, result=INTERRUPTED | {"ended_at": NOW - 60, "started_at": NOW - 62}
    ),
    "root, with a script that does not say when it began": Case(
        -210, seen=SHORT, result=INTERRUPTED | {"ended_at": NOW - 60, "started_at": None}
    ),
    # The node is back in service, and slurmd has written into the batch log.
    "the batch log tells of the prolog": Case(
        -1403, ("n1",), "on n1: Error running slurm prolog: 1", log="Error running slurm prolog: 1\n"
    ),
    # With PrologFlags=Alloc, there is not even a batch log.
    "Slurm, at its start": Case(-1402, (), "it ended at its start, no task had begun", SHORT),
    # Its second node had failed as its script began.
    "Slurm, as its script began": Case(
        -1402, (), "it ended at its start", SHORT, claimed=NOW - 60,
        result=INTERRUPTED | {"tasks": NOTHING_BEGAN, "started_at": NOW - 60, "ended_at": NOW - 60},
    ),
    "root, after a while": Case(-210, seen=SHORT | {"started": NOW - 66}),
    "root, once its script had begun": Case(-210, seen=SHORT | {"started": NOW - 62}, claimed=NOW - 62),
    "root, once a task had begun": Case(-210, seen=SHORT, claimed=NOW - 60, report="start 0 0 0 0 n1 1 1\n"),
    # Its first script was killed in the middle: a task had begun, and there is no result.
    "Slurm, after two starts": Case(
        -1402, ("n2",), "", lost=BAD_PROLOG | {"n2": "Duplicate jobid"}, report="start 0 0 0 0 n1 1 1\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_who_cancelled_a_job_is_recognized(tmp_path: Path, case: Case) -> None:
    folder, backend = job(tmp_path, SUBMITTED, *case.more, **case.policy), cancelled(**case.seen)
    backend.lost = case.lost
    if case.srun:
        said(folder, case.srun)
    folder.batch_log(0).write_text(case.log)
    if case.claimed is not None:
        claim(folder, "7", case.claimed)
    if case.report:
        (folder.attempt(0) / "tasks").mkdir(parents=True)
        (folder.attempt(0) / "tasks/n1.log").write_text(case.report)
    if case.result is not None:
        leave_result(folder, **case.result)
    record = end(stepped(folder, backend, NOW))
    assert (record.exit_code, record.blamed_nodes if isinstance(record, Retry) else None) == (case.code, case.blamed)
    assert case.words in record.reason
    if isinstance(record, Ended):
        assert record.state == ("STOPPED" if case.code == -210 else "FAILED")
    else:
        assert record.behaviour == "transient" or case.policy
    assert case.asked in (None, backend.node_queries)


@pytest.mark.parametrize("why", ["Prolog error", "Duplicate jobid", "batch job complete, prolog failed"])
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_cancel_after_a_failed_launch_blames_the_node(tmp_path: Path, why: str, interrupted: bool) -> None:
    """Transient, with Slurm's reason, on other nodes; the nodes are asked for once."""
    folder, backend = job(tmp_path), cancelled()
    backend.lost = {"n1": why, "n2": "Kill task failed", "n9": why}
    if interrupted:
        # The script had begun, and no task yet.
        leave_result(folder, outcome="interrupted", exit_code=-210, behaviour="stop", tasks=NOTHING_BEGAN)
    view = stepped(folder, backend, NOW)
    record = end(view)
    assert isinstance(record, Retry)
    code = -1403 if "rolog" in why else -1402
    assert (record.exit_code, record.behaviour, record.blamed_nodes) == (code, "transient", ("n1",))
    assert record.used_retries == 0
    assert why in record.reason
    assert [each.exclude for each in backend.submissions] == [("n1",)]
    assert backend.node_queries == 1


@pytest.mark.parametrize(("dependencies", "code"), [((), -1402), ((Dependency(name="alice~b", created_at=1),), -210)])
def test_a_job_that_no_user_cancelled_before_it_had_nodes(
    tmp_path: Path, dependencies: tuple[Dependency, ...], code: int
) -> None:
    """Slurm may cancel a job whose dependency can never be satisfied."""
    created = replace(CREATED, retry_policy=RetryPolicy(), dependencies=dependencies)
    folder = job_folder(tmp_path, created, INTENT, SUBMITTED)
    folder.script(0).write_text("#!/bin/bash\n")
    record = end(stepped(folder, cancelled(raw_state=BY_NOBODY, nodes="", started=None), NOW))
    assert record.exit_code == code


def test_a_node_is_drained_a_moment_after_the_job_has_ended(tmp_path: Path) -> None:
    """Until then nobody knows; a clock that is behind does not wait for ever."""
    folder, backend = job(tmp_path), cancelled(ended=NOW + 3600)
    early = stepped(folder, backend, NOW)
    assert (early.job_status.ended, backend.submissions) == (False, [])
    backend.lost = {"n2": "Prolog error"}
    assert end(stepped(folder, backend, NOW + 1)).exit_code == -1403
    folder, backend = job(tmp_path / "root"), cancelled(ended=NOW + 3600)
    assert not stepped(folder, backend, NOW).job_status.ended
    assert not stepped(folder, backend, NOW + 9).job_status.ended
    assert end(stepped(folder, backend, NOW + 10)).exit_code == -210


def test_without_node_states_the_job_does_not_end(tmp_path: Path) -> None:
    class Silent(FakeBackend):
        def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
            self.fails = "away"
            return super().unavailable_nodes(nodes)

    folder, backend = job(tmp_path), Silent(*cancelled().observations.values())
    view = stepped(folder, backend, NOW)
    assert (view.job_status.ended, bool(view.backend_error)) == (False, True)
    assert not [each for each in read(folder.journal).records if isinstance(each, Retry | Ended)]


def test_unreadable_srun_logs_are_ignored(tmp_path: Path) -> None:
    folder, backend = job(tmp_path), cancelled()
    said(folder, "srun: error: Task launch for StepId=2.0 failed on node \x1b[31m: Job prolog failed\n" + "x" * 99)
    os.mkfifo(folder.attempt(0) / "srun" / "a.log")
    (folder.attempt(0) / "srun" / "b.log").mkdir()
    (folder.attempt(0) / "srun" / "c.log").write_bytes(b"\xff\x00" * 99999)
    assert end(stepped(folder, backend, NOW)).exit_code == -210
