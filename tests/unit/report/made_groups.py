"""Make folders of jobs whose pages are hard to lay out: a long reason, and a group with different outcomes."""

from __future__ import annotations

import time
from pathlib import Path

from paislurm.translator.state.journal_records import Retry

from .made import Made, T, task

LONG_REASON = f"task worker-0 failed on gpu-rack17-node-0042: /a/path/{'x' * 150}/train.py was not found"
LOST = "task worker-1 failed: 1 failed of role worker complete the job"
LONG_NAME = "a_rather_long_parameter_name_that_has_no_end_in_sight"


def long_reason(jobs: Path, user: str) -> None:
    """Make a failed job of two attempts with a long reason, a long parameter name and a long parameter value."""
    made = Made(jobs, user, "long-reason", [("worker", 2)], parameters={"lr": "0.1", LONG_NAME: "s3://" + "y" * 90})
    for attempt, at in enumerate((T, T + 500)):
        made.submitted(attempt, at + 2, starts=at + 9)
        rows = [
            task("worker", 0, "FAILED", 1, "gpu-rack17-node-0042", at + 12, at + 300),
            task("worker", 1, "STOPPED", -220, "gpu-rack17-node-0042", at + 12, at + 300),
        ]
        if attempt:
            made.ended(attempt, "FAILED", 1, LONG_REASON, at + 9, at + 300, rows)
            continue
        made.result(attempt, at + 9, at + 300, "failed", 1, LONG_REASON, rows)
        made.add(
            Retry(
                happened_at=at + 303, attempt=attempt, exit_code=1, behaviour="transient", reason=LONG_REASON,
                retry_rule="transient: retried without using the budget", retry_at=at + 303, retries=1,
                transient_retries=1, used_retries=0, backend_state="FAILED", blamed_nodes=("gpu-rack17-node-0042",),
                started_at=at + 9, ended_at=at + 300,
            )
        )  # fmt: skip


def compared(jobs: Path, user: str, count: int = 12) -> None:
    """Make the jobs of a group: two failed for the same reason; the last was submitted 15 minutes ago and runs."""
    for number in range(count):
        values = {"lr": f"{0.1 / (number + 1):.4g}", "optimizer": "adam" if number % 2 else "sgd"}
        made = Made(
            jobs, user, f"resnet-{number}", [("worker", 2)], group="resnet", sweep=values,
            parameters={"epochs": "90", **values}, result_pattern="accuracy=(.*)",
        )  # fmt: skip
        if number == count - 1:
            now = int(time.time())
            made.submitted(0, now - 900, starts=now - 700)
            made.file(0, "tasks/n1.log", "".join(f"start 0 {k} {k} 0 n1 {k} {now - 600}\n" for k in range(2)))
            continue
        began, ended = T + 5 + 40 * number, T + 505 + 130 * number
        made.submitted(0, T + 2 + number, starts=began)
        failed = number in (3, 7)
        state, code = ("FAILED", 1) if failed else ("SUCCEEDED", 0)
        rows = [task("worker", index, state, code, f"n{index}", began + 8, ended) for index in range(2)]
        reason = LOST if failed else "all tasks have ended"
        name, text = (
            ("stderr", "epoch 3\nCUDA out of memory\n") if failed else ("stdout", f"accuracy={0.9 + number / 1000}\n")
        )
        made.file(0, f"logs/0-role/0.{name}.log", text)
        made.ended(0, state, code, reason, began, ended, rows)
