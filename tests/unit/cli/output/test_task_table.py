"""Many tasks fit a screen: those that failed stand first, those that are alike share a row."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.cli.output.task_table import FEW, MAX_FAILED, TaskFilter, task_rows
from paislurm.translator.times import aware
from paislurm.translator.view.task import TaskView


def task(index: int, **changes: Any) -> TaskView:
    values: dict[str, Any] = {"role": "worker", "index": index, "task_attempt": 0, "state": "RUNNING"}
    return TaskView(**{**values, "node": f"gpu{index // 4 + 1:03}", "started_at": aware(1000 + index), **changes})


def test_five_hundred_equal_tasks_share_one_row() -> None:
    [row] = task_rows([task(index) for index in range(500)])
    assert (*row[:6], row[7]) == ("worker-[0-499]", "RUNNING", "gpu[001-125]", "-", "-", "-", "-")
    assert re.fullmatch(r"[\d-]+ [\d:]+", row[6])


def test_few_tasks_are_shown_one_by_one_in_their_order() -> None:
    tasks = [task(index, state="FAILED" if index == 3 else "RUNNING") for index in range(FEW)]
    assert [row[0] for row in task_rows(tasks)] == [f"worker-{index}" for index in range(FEW)]


def test_failed_tasks_come_first_in_their_own_rows() -> None:
    tasks = [task(index) for index in range(90)] + [task(0, role="ps")]
    tasks[40] = task(40, state="FAILED", exit_status=1, exit_code=255)
    rows = [row[:2] for row in task_rows(tasks)]
    assert rows == [("worker-40", "FAILED"), ("worker-[0-39,41-89]", "RUNNING"), ("ps-0", "RUNNING")]
    assert len(task_rows(tasks, every=True)) == 91


def test_only_some_of_many_failed_tasks_have_their_own_row() -> None:
    rows = task_rows([task(index, state="FAILED", exit_status=1, exit_code=255) for index in range(100)])
    assert [row[0] for row in rows] == [*(f"worker-{k}" for k in range(MAX_FAILED)), f"worker-[{MAX_FAILED}-99]"]


def test_a_retried_or_held_task_has_its_own_row() -> None:
    tasks = [task(index) for index in range(60)]
    tasks[5], tasks[6] = task(5, task_attempt=2), task(6, hold_ends_at=2000)
    assert [row[0] for row in task_rows(tasks)] == ["worker-[0-4,7-59]", "worker-5", "worker-6"]


def test_scattered_indexes_and_nodes_are_counted() -> None:
    tasks = [task(index, state="WAITING" if index % 2 else "RUNNING", node=f"n{index * 7}") for index in range(400)]
    running, waiting = task_rows(tasks)
    assert (running[0][-15:], waiting[0][:14], running[2]) == (",…] (200 tasks)", "worker-[1,3,5,", "200 nodes")
    assert max(len(running[0]), len(waiting[0])) < 65


@given(st.lists(st.sampled_from(["RUNNING", "WAITING", "FAILED", "SUCCEEDED"]), max_size=60))
def test_every_task_is_in_one_row(states: list[Any]) -> None:
    tasks = [task(index, state=state) for index, state in enumerate(states)]
    found: list[int] = []
    for name, *_ in task_rows(tasks):
        whole = re.fullmatch(r"worker-(?:(\d+)|\[([0-9,-]+)\])", name)
        if whole is None:
            return  # Scattered indexes are counted.
        for part in (whole[1] or whole[2]).split(","):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    assert sorted(found) == list(range(len(states)))


def test_tasks_are_selected_by_state_and_name() -> None:
    tasks = [task(0), task(1, state="FAILED"), task(0, role="ps", state="FAILED"), task(12)]

    def chosen(*states: str, of: tuple[str, ...] = ()) -> list[str]:
        return [f"{each.role}-{each.index}" for each in TaskFilter(states=states, patterns=of).chosen(tasks)]

    assert chosen() == ["worker-0", "worker-1", "ps-0", "worker-12"]
    assert chosen("FAILED") == chosen("FAILED", of=("worker-?", "ps-0")) == ["worker-1", "ps-0"]
    assert chosen(of=("worker",)) == ["worker-0", "worker-1", "worker-12"]
    assert chosen(of=("work",)) == []
