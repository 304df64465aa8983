"""Jobs and tasks to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from paislurm.translator.app.jobs.live import Tail
from paislurm.translator.app.jobs.reported import Progress
from paislurm.translator.app.session import user_name
from paislurm.translator.cli.screen.state import World
from paislurm.translator.times import aware
from paislurm.translator.view.jobs import JobView
from paislurm.translator.view.line import JobLine
from paislurm.translator.view.states import State
from paislurm.translator.view.task import TaskView

NOW = 1_700_000_000


def line(name: str, state: State, **changes: Any) -> JobLine:
    """Return a job of ten tasks that was submitted an hour ago."""
    values: dict[str, Any] = {
        "name": f"{user_name()}~{name}", "job": name, "user": user_name(), "retries": 0, "started_at": None,
        "ended_at": None, "virtual_cluster": None, "partition": None, "state": state,
        "exit_code": 255 if state == "FAILED" else None,
        "reason": f"why {name} is so", "attempt": 0, "backend": "slurm", "job_id": "1234", "completed": 4,
        "task_count": 10, "created_at": NOW - 3600, "submitted_at": NOW - 3600,
        "ended": state in ("SUCCEEDED", "FAILED", "STOPPED"), "folder": f"/home/jobs/{name}",
    }  # fmt: skip
    values |= changes
    return JobLine(**values | {key: aware(value) for key, value in values.items() if key.endswith("_at")})


def task(index: int, state: State, role: str = "worker", **changes: Any) -> TaskView:
    """Return a task; one that failed did so at a second of its own."""
    ends = {"FAILED": NOW - 100 + index, "SUCCEEDED": NOW - 50}
    values: dict[str, Any] = {
        "role": role, "index": index, "task_attempt": 0, "state": state, "node": f"node{index % 7}",
        "started_at": None if state == "WAITING" else NOW - 600, "ended_at": ends.get(state),
        "exit_code": 255 if state == "FAILED" else None, "exit_status": 3 if state == "FAILED" else None,
    }  # fmt: skip
    values |= changes
    return TaskView(**values | {key: aware(value) for key, value in values.items() if key.endswith("_at")})


def view(tasks: Sequence[TaskView], name: str = "train", state: State = "RUNNING", **changes: Any) -> JobView:
    """Return a job with these tasks."""
    return JobView(**structs.asdict(line(name, state)) | {"tasks": tuple(tasks)} | changes)


def many_jobs(count: int) -> tuple[JobLine, ...]:
    """Return that many jobs, of which the first failed and every fifth waits."""
    states: list[State] = ["FAILED", *("WAITING" if k % 5 == 0 else "RUNNING" for k in range(1, count))]
    return tuple(line(f"sweep-{k}", state, submitted_at=NOW - k) for k, state in enumerate(states))


def training(count: int = 64) -> World:
    """Return a job of so many workers, of which 10 and 33 failed, and of two parameter servers."""
    workers = [task(k, "FAILED" if k in (10, 33) else "SUCCEEDED" if k % 8 == 5 else "RUNNING") for k in range(count)]
    tasks = [*workers, task(0, "RUNNING", "ps"), task(1, "WAITING", "ps")]
    shown = view(tasks)
    done = sum(each.completed for each in tasks)
    return World(
        polled=True,
        job=shown,
        progress=Progress(
            words=f"{done} of {len(tasks)} tasks completed, 2 failed", done=done, total=len(tasks), failed=2
        ),
        tail=Tail(
            job=shown.name,
            task="worker-33",
            stream="stderr",
            lines=(*(f"step {k}" for k in range(200)), "RuntimeError: CUDA out of memory"),
        ),
    )
