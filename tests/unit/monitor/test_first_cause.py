"""Which task failed first, and what became of the others."""

from __future__ import annotations

from typing import Any

import pytest

from paislurm.translator.monitor.first_cause import FirstCause, first_cause
from paislurm.translator.monitor.job_failure import deciding_task
from paislurm.translator.monitor.last_words import Output, last_words, lost_a_peer, telling_output

from .jobs import NOW, failed, task

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
        (300, {"memory_kills": 1}, "worker-1"),
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


STOPPED = {"state": "STOPPED", "behaviour": "unknown", "exit_status": None, "exit_code": -220}
SUCCEEDED = {"state": "SUCCEEDED", "behaviour": "unknown", "exit_status": 0, "exit_code": 0}


@pytest.mark.parametrize(
    ("end", "ended_after_ms", "words", "first"),
    [
        (STOPPED, 30_000, "KeyError: 'label 41'", "worker-1"),  # it raised, and hung in a thread
        (STOPPED, 30_000, "epoch 4", "worker-0"),
        (STOPPED, 30_000, RESET, "worker-0"),
        (STOPPED, 30_000, "torch.distributed.elastic.multiprocessing.api.SignalException: got signal: 15", "worker-0"),
        (STOPPED, 30_000, "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***", "worker-0"),
        (STOPPED, 30_000, "12:00:01 WARNING error: retried once", "worker-0"),
        (SUCCEEDED, 10_000, "ERROR: cannot bind 0.0.0.0:99", "worker-1"),
        (SUCCEEDED, 10_000, "all done", "worker-0"),
        (SUCCEEDED, 500, "ERROR: cannot bind 0.0.0.0:99", "worker-0"),  # long before
        (SUCCEEDED, 15_000, "ERROR: cannot bind 0.0.0.0:99", "worker-0"),  # later
    ],
)
def test_a_task_that_raised_without_failing_explains_lost_peers(
    end: dict[str, Any], ended_after_ms: int, words: str, first: str
) -> None:
    tasks = [task(0, ended_after_ms=12_000, **FAILED), task(1, ended_after_ms=ended_after_ms, **end)]
    cause = found(tasks, {"worker-0": RESET, "worker-1": words})
    assert name(cause) == first
    if first == "worker-1" and cause is not None:
        assert ([each.index for each in cause.cascade], cause.stopped) == ([0], ())
        assert cause.delays_ms == (None if end is STOPPED else (2000, 2000))


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
        task(0, ended_after_ms=100, evidence=["a", "b"], memory_kills=2, **FAILED),
        task(1, ended_after_ms=900, evidence=["b", "c"], memory_kills=1, **FAILED),
        task(2, ended_after_ms=900, evidence=["d"], node="n2", **FAILED),
    ]
    cause = found(tasks)
    assert cause is not None
    assert cause.evidence == ("the kernel killed processes of this task, out of memory: 2", "a", "b", "c")


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
        ("RuntimeError: x" + 14 * "\n2026-11-29 02:00:13 INFO wandb: uploading", "RuntimeError: x"),
        ("RuntimeError: x" + 14 * "\nuploading a part", "RuntimeError: x"),
        ("error: x" + 14 * "\nuploading a part", "error: x"),
        ("there was an error: x" + 14 * "\nuploading a part", "uploading a part"),
        ("bad shape\n------------\n=====", "bad shape"),
        ("bad shape\nEpoch 1:  80%|####  | 4/5 [00:04<00:02,  3.1it/s]\n 40/100 [===>....] - ETA: 1s", "bad shape"),
        ("bad shape\nvalidation error: 0.12, loss 3\nerror: 3e-4", "error: 3e-4"),
        ("RuntimeError: x\nvalidation error: 0.12", "RuntimeError: x"),
        ("ValueError: x\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n====", "ValueError: x"),
        (
            "subprocess.CalledProcessError: Command 'a' returned 1",
            "subprocess.CalledProcessError: Command 'a' returned 1",
        ),
        (
            "[rank1]: Traceback (most recent call last):\n[rank1]:   File x\n[rank1]: ValueError: x\nbye",
            "ValueError: x",
        ),
        ("[1,0]<stderr>:ValueError: x", "ValueError: x"),
        ("tar: a.tar: Cannot open\ntar: Error is not recoverable: exiting now", "tar: a.tar: Cannot open"),
        ("12:00:01 - train - ERROR - diverged\nbye", "12:00:01 - train - ERROR - diverged"),
    ],
)
def test_the_last_words_report_the_error(log: str, words: str) -> None:
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


@pytest.mark.parametrize(
    ("stderr", "stdout", "stream", "words"),
    [
        ("", "", "stderr", ""),
        ("bad shape", "ready", "stderr", "bad shape"),
        ("", "loss is nan", "stdout", "loss is nan"),
        ("", "step 4\ncheckpoint saved", "stdout", ""),  # no cause: that went well
        ("", "checkpoint not saved", "stdout", "checkpoint not saved"),
        (" 80%|####  | 4/5 [00:04<00:02,  3.1it/s]", "ValueError: bad label", "stdout", "ValueError: bad label"),
        ("warming up", "ERROR: the GPU fell off the bus", "stdout", "ERROR: the GPU fell off the bus"),
        ("warming up", "there was an error: retried", "stderr", "warming up"),
        ("KeyError: 3", "ValueError: bad label", "stderr", "KeyError: 3"),
    ],
)
def test_the_output_that_tells_the_cause(stderr: str, stdout: str, stream: str, words: str) -> None:
    outputs = (Output("stderr", stderr.split("\n") if stderr else ()), Output("stdout", stdout.split("\n")))
    output, found_words = telling_output(outputs if stdout else (outputs[0],))
    assert (output.stream, found_words) == (stream, words)
