"""Which task decided that a job failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paislurm.translator.monitor.failure import Failure, deciding_task
from paislurm.translator.monitor.job_status import JobStatus
from paislurm.translator.monitor.poll import View
from paislurm.translator.monitor.task_status import task_views
from paislurm.translator.state.history import history
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.safe_read import CorruptDataError

from .jobs import CREATED, INTENT, NOW, SUBMITTED, left, task

FAILED = {"state": "FAILED", "behaviour": "unknown"}


def view(code: int | None, tasks: list[dict[str, Any]], *, state: str = "FAILED", **changes: Any) -> View:
    known = history([CREATED, INTENT, SUBMITTED])
    result = left(outcome="failed", tasks=tasks, **({"exit_code": code} | changes))
    status = JobStatus(state=state, code=code, reason="", ended=True)  # type: ignore[arg-type]
    tasks_seen = task_views(known.roles, result, {}, ended=True)
    return View(
        folder=JobFolder(path=Path("/jobs/x")), history=known, job_status=status, result=result, tasks=tasks_seen
    )


def trigger(index: int) -> dict[str, Any]:
    return {"completion_rule": "C2", "role": "worker", "index": index, "count": 1, "threshold": 1}


EARLY = task(0, exit_status=3, exit_code=255, ended_at=NOW - 20, **FAILED)
LATE = task(1, exit_status=4, exit_code=255, **FAILED)


@pytest.mark.parametrize(
    ("code", "changes", "index"),
    [
        (255, {"trigger": trigger(1)}, 1),
        (255, {"trigger": trigger(0)}, 0),
        (255, {}, 0),  # nothing names it: the first that failed
        (220, {"exit_code": 220}, 0),
        (255, {"trigger": trigger(1), "exit_code": -1001}, 0),  # the result is not what the job ended with
        (255, {"trigger": trigger(7)}, None),
        (-1001, {}, None),  # of a node, not of a task
        (None, {"exit_code": 0}, None),
    ],
)
def test_the_task_that_decided(code: int | None, changes: dict[str, Any], index: int | None) -> None:
    found = deciding_task(view(code, [EARLY, LATE], **changes))
    assert (found.index if found else None) == index


def test_a_task_with_the_code_of_the_job_goes_before_an_earlier_one() -> None:
    lost = task(1, exit_status=None, exit_code=-1001, **FAILED)
    found = deciding_task(view(-1001, [EARLY, lost]))
    assert found is not None
    assert found.index == 1


@pytest.mark.parametrize("state", ["STOPPED", "SUCCEEDED", "RUNNING"])
def test_of_a_job_that_has_not_failed_none_decided(state: str) -> None:
    assert deciding_task(view(255, [EARLY, LATE], state=state, trigger=trigger(0))) is None


@pytest.mark.parametrize("bad", [1, "worker", [], {"role": 1, "index": 0}, {"role": "worker"}])
def test_a_trigger_of_another_kind_is_damage(bad: object) -> None:
    with pytest.raises(CorruptDataError):
        left(trigger=bad)


def of(code: int, tasks: list[dict[str, Any]], **changes: Any) -> Failure:
    seen = view(code, tasks, **changes)
    return Failure.of(seen, code, deciding_task(seen), command=None, stream="stderr", last_lines=())


@pytest.mark.parametrize(
    ("code", "status", "rule", "meaning"),
    [
        (255, 3, "code 255, PAIRuntimeUnknownFailed: no rule of the exit specification knows exit status 3", "chose"),
        (255, 1, "code 255, PAIRuntimeUnknownFailed: no rule of the exit specification knows exit status 1", "Python"),
        (139, 139, "code 139, ContainerSigSegvReceived: exit status 139", "SEGV (11)"),
        (
            228,
            1,
            "code 228, ContainerIncorrectParameterError: one of 6 rules, see `paislurm explain-exit 228`",
            "option",
        ),
    ],
)
def test_what_a_failure_means(code: int, status: int, rule: str, meaning: str) -> None:
    found = of(code, [task(0, exit_status=status, exit_code=code, **FAILED), task(1)])
    assert found.rule == rule
    assert meaning in found.advice.meaning


def test_the_job_is_named_in_commands_that_help() -> None:
    found = of(-1200, [task(0, exit_status=137, exit_code=-1200, **FAILED), task(1)])
    assert "`sacct -j 7 " in found.advice.look
    assert found.task is not None


def test_a_failure_before_any_task_is_of_the_batch_script() -> None:
    stopped = [task(k, state="STOPPED", exit_status=None, exit_code=-220, started_at=None) for k in (0, 1)]
    assert "batch script" in of(255, stopped).advice.meaning
    assert of(255, stopped).as_dict()["task"] is None
