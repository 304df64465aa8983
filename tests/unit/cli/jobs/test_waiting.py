"""`wait`, `cancel` and `monitor`: what goes on, or is ended, while a job lives."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app import monitor_run as monitoring
from paislurm.translator.app.jobs.waiting import TICK
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read

from ...app.jobs.test_attempts import retry
from ...monitor.jobs import FakeBackend, leave_result, observed, task
from ..running import ME, Runner


def test_wait_ends_with_the_job(
    run: Runner, slurm: FakeBackend, folder: JobFolder, then: Callable[..., list[float]]
) -> None:
    slept = then(*[lambda: None] * 8, lambda: leave_result(folder))
    slurm.observations[JobId("7")] = observed("RUNNING")
    said = run("wait", "demo")
    assert (said.code, said.out, len(slept)) == (0, "", 9)
    assert f"{ME} SUCCEEDED: all is well" in said.err
    assert slurm.queries <= 3
    # A job that ends at once is seen at once; one that lasts costs two looks a second.
    assert slept == sorted(slept)
    assert 8 * slept[0] < slept[-1] == TICK


def test_wait_exits_with_1_for_a_failed_job(run: Runner, slurm: FakeBackend, folder: JobFolder) -> None:
    leave_result(folder, outcome="failed", exit_code=255, reason="worker-0 failed")
    slurm.observations[JobId("7")] = observed("FAILED", final=True)
    assert run.json("wait", "demo")["state"] == "FAILED"
    for words in ((), ("--json",)):
        said = run("wait", "demo", *words)
        assert (said.code, f"see: paislurm status {ME}" in said.err) == (1, True)


def test_ctrl_c_during_wait_does_not_cancel_the_job(
    run: Runner, slurm: FakeBackend, folder: JobFolder, then: Callable[..., list[float]]
) -> None:
    then()
    slurm.observations[JobId("7")] = observed("RUNNING")
    said = run("wait", "demo")
    assert (said.code, slurm.cancelled) == (130, [])
    assert f"interrupted; job {folder.name} continues" in said.err
    assert f"cancel it with `paislurm cancel {ME}`" in said.err


@pytest.mark.parametrize("seconds", [0, 20])
def test_wait_timeout_exits_with_124(
    run: Runner, slurm: FakeBackend, folder: JobFolder, then: Callable[..., list[float]], seconds: int
) -> None:
    slurm.observations[JobId("7")] = observed("RUNNING")
    then(*[lambda: None] * (seconds // 20), seconds=30)
    said = run("wait", "demo", f"--timeout={seconds}")
    assert (said.code, slurm.cancelled) == (124, [])
    assert f"E533: {ME} has not ended within {seconds} s" in said.err
    leave_result(folder)
    slurm.observations[JobId("7")] = observed("COMPLETED", final=True)
    assert run("wait", "demo", f"--timeout={seconds}").code == 0


def test_a_monitor_reports_write_errors_and_keeps_trying(
    run: Runner, slurm: FakeBackend, folder: JobFolder, then: Callable[..., list[float]]
) -> None:
    blocked = folder.path.parents[1] / "monitor"
    blocked.write_text("", encoding="utf-8")
    slurm.observations[JobId("7")] = observed("COMPLETED", final=True)
    leave_result(folder)
    once = run("monitor", "--once")
    assert (once.code, f"cannot write {blocked}: " in once.err, slurm.queries) == (0, True, 0)
    pauses = then(*[lambda: None] * (monitoring.TRIES + 4), blocked.unlink)
    said = run("monitor")
    assert (said.code, len(pauses)) == (0, monitoring.TRIES + 5)
    assert read(folder.journal).records[-1] == folder.history().ended
    assert said.err.count("cannot write ") == 1
    assert f"{ME}: SUCCEEDED attempt 1" in said.err


def test_monitor_with_a_job_requires_once(run: Runner, folder: JobFolder) -> None:
    said = run("monitor", folder.name)
    assert (said.code, "JOB can only be used with --once" in said.err) == (2, True)


TRIGGER = {"completion_rule": "C2", "role": "worker", "index": 0, "count": 1, "threshold": 1}


def test_status_between_attempts_explains_the_last_one(run: Runner, retried: JobFolder) -> None:
    """Its node, the signal and the last words, as if the job had failed."""
    killed = task(0, state="FAILED", exit_status=137, exit_code=137, behaviour="transient", node="n7")
    reason = {"outcome": "failed", "exit_code": 137, "behaviour": "transient", "reason": "worker-0 was killed"}
    leave_result(retried, **reason, trigger=TRIGGER, tasks=[killed, task(1)])
    log = retried.attempt(0) / "logs/0-worker/0.stdout.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("epoch 7 loss 0.3\n")
    retried.append(retry(exit_code=137, behaviour="transient", reason="worker-0 was killed"))
    first, remedy, *_ = run("status", "demo").out.splitlines()
    assert first.startswith("failed by worker-0 on n7 at ")
    assert first.endswith("which paislurm did not send, exit status 137. Last words: epoch 7 loss 0.3")
    assert remedy.startswith("  try: raise `memoryMB`")


def test_status_shows_the_meaning_of_the_code_of_the_last_attempt(run: Runner, retried: JobFolder) -> None:
    retried.append(retry())
    assert re.match(r"failed at \S+ \S+: worker-0 failed\n  try: ", run("status", "demo").out)
    retried.append(retry(1, exit_code=137, retry_rule="transient"))
    out = run("status", "demo").out
    assert re.search(r"^usually +signal KILL \(9\)", out, re.MULTILINE)
    assert re.search(r"^  try: raise `memoryMB`", out, re.MULTILINE)
