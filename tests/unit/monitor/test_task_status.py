"""How tasks stand, by the result where there is one, else by their reports."""

from __future__ import annotations

from paislurm.translator.state.task_reports import Report, apply_reports
from paislurm.translator.view.task import task_views

from .jobs import ROLES, left, task

DECIDED = left(
    outcome="failed",
    exit_code=255,
    tasks=[task(0), task(1, state="STOPPED", ended_at=None, exit_status=None, exit_code=-220)],
)


def test_tasks_of_a_running_job_have_their_states() -> None:
    reports = {
        "0-worker": {
            0: Report(index=0, attempt=1, node="n1", started=5, status=0, code=0, behaviour="success", ended=9),
        }
    }
    first, second = task_views(ROLES, None, reports, ended=False)
    assert (first.state, first.task_attempt, first.node, first.exit_code) == ("SUCCEEDED", 1, "n1", 0)
    assert (second.state, second.exit_code) == ("WAITING", None)
    running = {"0-worker": {1: Report(index=1, attempt=0, node="n2", started=5)}}
    assert task_views(ROLES, None, running, ended=False)[1].state == "RUNNING"


def test_unfinished_tasks_of_a_finished_job_are_stopped() -> None:
    running = {"0-worker": {1: Report(index=1, attempt=0, node="n2", started=5)}}
    first, second = task_views(ROLES, None, running, ended=True)
    assert (first.state, first.exit_code) == ("STOPPED", -220)
    assert (second.state, second.exit_code, second.node) == ("STOPPED", -220, "n2")
    _, lingering = task_views(ROLES, DECIDED, {}, ended=False)
    assert lingering.state == "STOPPING"
    _, stopped = task_views(ROLES, DECIDED, {}, ended=True)
    assert stopped.state == "STOPPED"


def test_tasks_unknown_to_the_job_are_ignored_in_a_result() -> None:
    liar = left(tasks=[task(0), task(99), task(0, role="\x1b[2J")])
    assert [(t.role, t.index) for t in task_views(ROLES, liar, {}, ended=True)] == [
        ("worker", 0),
        ("worker", 1),
    ]


def test_a_task_that_never_started_is_not_completed() -> None:
    """Its node is to blame: it failed with that node's name, and without a start."""
    never = task(1, state="FAILED", started_at=None, ended_at=None, exit_status=None, exit_code=-1402, node="n2")
    views = task_views(ROLES, left(outcome="failed", exit_code=-1402, tasks=[task(0), never]), {}, ended=True)
    assert [(view.state, view.node, view.completed) for view in views] == [
        ("SUCCEEDED", "n1", True),
        ("FAILED", "n2", False),
    ]


def test_an_end_is_known_with_and_without_its_age() -> None:
    """Scripts of older versions report no age."""
    for age in ("", " 80"):
        latest: dict[int, dict[int, Report]] = {}
        apply_reports(latest, [b"start 0 0 1 0 n1 0 7", f"exit 0 0 1 0 3 255 unknown 9{age}".encode()])
        assert (latest[0][1].status, latest[0][1].ended) == (3, 9)
