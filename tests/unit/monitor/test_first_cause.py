"""Which task failed first, and what became of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from paislurm.translator.monitor.failure import deciding_task
from paislurm.translator.monitor.first_cause import first_cause, last_words, lost_a_peer

from .jobs import NOW, failed, task

if TYPE_CHECKING:
    from paislurm.translator.monitor.first_cause import FirstCause

FAILED = {"state": "FAILED", "behaviour": "unknown", "exit_status": 1, "exit_code": 255}
KILLED = FAILED | {"exit_status": 137, "exit_code": 137}
RESET = "ConnectionResetError: [Errno 104] Connection reset by peer"


def found(
    tasks: list[dict[str, Any]], lines: dict[str, str] | None = None, *, decider: str = "worker-0", code: int = 255
) -> FirstCause | None:
    """Return the first cause among tasks whose logs end with these lines; `decider` reached the threshold."""
    role, _, index = decider.rpartition("-")
    trigger = {"completion_rule": "C2", "role": role, "index": int(index)} if decider else None
    seen, said = failed(tasks, code, trigger=trigger), lines or {}
    return first_cause(seen, deciding_task(seen), lambda each: (said.get(f"{each.role}-{each.index}", "it ends"),))


def name(cause: FirstCause | None) -> str:
    return f"{cause.task.role}-{cause.task.index}" if cause else ""


@pytest.mark.parametrize(
    ("ends", "first"),
    [((100, 900), "worker-0"), ((900, 100), "worker-1"), ((100, 100), "worker-0"), ((None, 900), "worker-1")],
)
def test_the_earliest_end_is_the_first_cause(ends: tuple[int | None, int], first: str) -> None:
    """A task without the finer time, which had no commands to end, is as late as its whole second."""
    assert name(found([task(k, ended_after_ms=ms, **FAILED) for k, ms in enumerate(ends)])) == first


@pytest.mark.parametrize(
    ("late", "changes", "first"),
    [
        (300, KILLED, "worker-1"),
        (900, KILLED, "worker-0"),
        (300, {"exit_status": 139, "exit_code": 139}, "worker-1"),
        (300, {"exit_status": 134, "exit_code": 134}, "worker-0"),
        (300, {"exit_status": None, "exit_code": -1001}, "worker-1"),
        (300, {"exit_status": 1, "exit_code": -1200}, "worker-1"),
        (300, {"evidence": ["the kernel killed processes of this task, out of memory: 1"]}, "worker-1"),
    ],
)
def test_a_hard_cause_wins_a_tie(late: int, changes: dict[str, Any], first: str) -> None:
    both = [task(0, ended_after_ms=100, **FAILED), task(1, ended_after_ms=late, **(FAILED | changes))]
    assert name(found(both)) == first


@pytest.mark.parametrize(
    ("late", "words", "first"),
    [
        (3000, "ValueError: no such key", "worker-1"),
        (3000, "BrokenPipeError: [Errno 32] Broken pipe", "worker-0"),
        (9000, "ValueError: no such key", "worker-0"),
    ],
)
def test_a_lost_peer_is_no_first_cause_beside_another_failure(late: int, words: str, first: str) -> None:
    both = [task(0, ended_after_ms=100, **FAILED), task(1, ended_after_ms=late, **FAILED)]
    assert name(found(both, {"worker-0": RESET, "worker-1": words})) == first


def test_a_lost_node_explains_a_lost_peer_at_any_time() -> None:
    lost = task(1, ended_after_ms=400_000, **(FAILED | {"exit_status": None, "exit_code": -1001}))
    assert name(found([task(0, ended_after_ms=100, **FAILED), lost], {"worker-0": RESET})) == "worker-1"


def test_old_results_with_whole_seconds_prefer_hard_causes() -> None:
    both = [task(0, ended_at=NOW - 10, **FAILED), task(1, ended_at=NOW - 9, **KILLED)]
    assert name(found(both)) == "worker-1"


def test_the_decider_may_fail_because_of_another_role() -> None:
    """Of two roles that fail in one second, the earlier one decides. Failures long before it are not its cause."""
    tasks = [
        task(0, role="ps", ended_after_ms=70_900, **FAILED),
        task(0, ended_after_ms=70_100, **FAILED),
        task(1, ended_after_ms=900, **FAILED),
        task(2, ended_after_ms=71_400, **FAILED),
        task(3, state="STOPPED", exit_status=143, exit_code=-220),
        task(4, state="STOPPED", exit_status=None, exit_code=-220, started_at=None),
    ]
    cause = found(tasks, decider="ps-0")
    assert cause is not None
    assert name(cause) == "worker-0"
    cascade = [f"{each.role}-{each.index}" for each in cause.cascade]
    assert (cascade, cause.delays_ms) == (["ps-0", "worker-2"], (800, 1300))
    assert [each.index for each in cause.stopped] == [3]


def test_the_evidence_is_that_of_the_node() -> None:
    tasks = [
        task(0, ended_after_ms=100, evidence=["a", "b"], **FAILED),
        task(1, ended_after_ms=900, evidence=["b", "c"], **FAILED),
        task(2, ended_after_ms=900, evidence=["d"], node="n2", **FAILED),
    ]
    cause = found(tasks)
    assert cause is not None
    assert cause.evidence == ("a", "b", "c")


def test_a_job_that_no_task_decided_has_no_first_cause() -> None:
    assert found([task(0, ended_after_ms=100, **FAILED)], decider="", code=-1004) is None


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", ""),
        ("loading\ndone", "done"),
        (
            'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\nValueError: x',
            "ValueError: x",
        ),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory.\nexiting",
            "torch.cuda.OutOfMemoryError: CUDA out of memory.",
        ),
        ("train.sh: line 3: foo: command not found", "train.sh: line 3: foo: command not found"),
        ("Traceback (most recent call last):", ""),
        ("RuntimeError: x\n/j/commands/0-w.sh: line 1: 77 Killed     python3 train.py", "RuntimeError: x"),
        ("/j/commands/0-w.sh: line 3: foo: command not found", "line 3: foo: command not found"),
    ],
)
def test_the_last_words_are_no_frame(log: str, words: str) -> None:
    assert last_words(log.split("\n") if log else []) == words


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        (RESET, True),
        ("RuntimeError: [gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.0.0.1]:3", True),
        ("torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error", True),
        ("zmq: the peer has gone", True),
        ("ConnectionRefusedError: [Errno 111] Connection refused", True),
        ("ValueError: bad closing bracket", False),
        ("Killed", False),
    ],
)
def test_lines_that_report_a_lost_peer(line: str, lost: bool) -> None:
    assert lost_a_peer(["epoch 1", line]) is lost
