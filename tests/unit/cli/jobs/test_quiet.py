"""Slurm is asked seldom, whatever runs: real processes, and programs in Slurm's place that count."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from paislurm.backends.base import JobId
from paislurm.backends.slurm.commands import ACCOUNTING_FIELDS
from paislurm.translator.app.jobs import polling
from paislurm.translator.monitor.polling.call_log import FILE, Call, CallLog
from paislurm.translator.state.job_folder import JobFolder
from tests.children import child
from tests.clock import clock
from tests.cluster.processes import wait_until

from ...monitor.jobs import FakeBackend, claim, leave_result, observed
from ..running import ME, Runner, document_of, paislurm, program

PAISLURM = (sys.executable, "-m", "paislurm.translator.cli.start")
SHORT_LIVED = """
import sys
from paislurm.translator.cli.main import main
from paislurm.translator.monitor import job_files
job_files.PART = 0
sys.exit(main(["monitor"]))
"""
"""A monitor whose CPU time is spent as soon as it has begun."""
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@pytest.fixture
def shared(slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch) -> FakeBackend:
    """Let all commands share one answer, as they do outside of tests."""
    monkeypatch.setattr(polling, "SHARED", ("slurm",))
    slurm.observations[JobId("7")] = observed("PENDING", reason="Resources")
    return slurm


def test_interactive_commands_share_one_poll_result(run: Runner, shared: FakeBackend, folder: JobFolder) -> None:
    assert "Resources" in run("status", "demo").out
    for words in (["status", "demo"], ["list"], ["list", "--json"], ["logs", "demo"], ["status", "7", "--json"]):
        assert run(*words).code == 0
    assert shared.queries == 1
    leave_result(folder)
    assert "SUCCEEDED" in run("status", "demo").out
    assert shared.queries == 1


@pytest.fixture
def calls(tmp_path: Path, folder: JobFolder, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Put programs in Slurm's place that say that job 7 runs, as its claim does; return what was called."""
    claim(folder, "7", clock() - 3)
    log = tmp_path / "calls"
    log.touch()
    for name, answer in (
        ("squeue", "echo '7|demo|RUNNING|1|2|3|n1||||||None'"),
        ("sacct", "exit 1"),
        ("sbatch", "exit 1"),
    ):
        program(tmp_path / "bin" / name, f"echo {name} >>{log}\n{answer}")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=":")
    return lambda: log.read_text().split()


def ended(folder: JobFolder) -> bool:
    return folder.history().ended is not None


@pytest.mark.slow("processes that look each second")
def test_parallel_commands_share_one_poll_and_notice_a_result_at_once(
    folder: JobFolder, calls: Callable[[], list[str]], surroundings: Path
) -> None:
    commands = ("monitor", "wait demo", "wait demo --json", "watch", "watch demo", "logs -f demo")
    with ExitStack() as stack:
        running = [stack.enter_context(child([*PAISLURM, *each.split()], **QUIET)) for each in commands]
        wait_until(lambda: calls() != [], "a question")
        for _ in range(3):
            assert paislurm("status", "demo").returncode == 0
        time.sleep(2)
        leave_result(folder)
        began = time.monotonic()
        wait_until(lambda: ended(folder), "the end of the job")
        noticed = time.monotonic() - began
        assert [process.wait(30) for process in running] == [0] * len(commands)
    assert calls() == ["squeue"]
    assert noticed < 2, noticed
    assert (surroundings.parent / "monitor" / "answer.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow("processes that look each second")
@pytest.mark.usefixtures("calls")
def test_the_monitor_and_wait_use_the_poll_result_of_status(
    folder: JobFolder, surroundings: Path, tmp_path: Path
) -> None:
    """Root cancels a job of which nobody would ask for three minutes."""
    answer = surroundings.parent / "monitor" / "answer.json"
    with child([*PAISLURM, "monitor"], **QUIET) as monitor:
        wait_until(answer.exists, "an answer")
        with child([*PAISLURM, "wait", "demo"], **QUIET) as waiting:
            program(tmp_path / "bin" / "squeue", "")
            rows = f"'{'|'.join(ACCOUNTING_FIELDS)}' '7|demo|CANCELLED by 0|0:0|1|2|{clock()}|||None'"
            program(tmp_path / "bin" / "sacct", f"printf '%s\\n' {rows}")
            long_ago = time.time() - 100
            os.utime(answer, (long_ago, long_ago))
            seen = document_of("status", "demo")
            # The monitor has the lock, unless it has recorded the end meanwhile.
            assert seen["state"] == "STOPPED" or "records this end" in seen["reason"]
            assert [process.wait(60) for process in (monitor, waiting)] == [0, 1]
    assert ended(folder)
    assert document_of("status", "demo")["state"] == "STOPPED"


@pytest.mark.slow("processes that look each second")
def test_a_monitor_goes_on_in_another_process_before_its_cpu_time_ends(
    folder: JobFolder, calls: Callable[[], list[str]]
) -> None:
    limited = ["sh", "-c", 'ulimit -t 60; exec "$@"', "sh", sys.executable, "-c", SHORT_LIVED]
    with child(limited, stderr=subprocess.PIPE, text=True) as monitor:
        wait_until(lambda: "squeue" in calls(), "a question")
        time.sleep(2)
        leave_result(folder)
        wait_until(lambda: ended(folder), "the end of the job")
        _, said = monitor.communicate(timeout=30)
    assert (monitor.returncode, "another process continues" in said, f"{ME}: SUCCEEDED" in said) == (0, True, True)
    assert calls() == ["squeue"], "the other process has the answer of the first"


def test_monitor_calls_shows_the_call_log(run: Runner, surroundings: Path) -> None:
    assert "no calls to Slurm" in run("monitor", "--calls").err
    own, now = CallLog(surroundings.parent / "monitor"), time.time()
    for name, cpu, ago in (
        ("squeue", 0.01, 60), ("squeue", 0.02, 60), ("sacct", 0.5, 60), ("sbatch-retry", 0.01, 60),
        ("sbatch", 0.01, 60), ("monitor", 0.75, 60), ("squeue", 9, 90_000), ("sbatch-retry", 0, 4000),
    ):  # fmt: skip
        own.add(Call(time=now - ago, program=name, cpu=cpu, end="failed" if name == "sacct" else "ok"))
    said = run("monitor", "--calls")
    rows = [line.split() for line in said.out.splitlines()]
    assert rows[1:] == [
        ["sacct", "1", "1", "0.50"],
        ["sbatch", "1", "0", "0.01"],
        ["sbatch-retry", "2", "0", "0.01"],
        ["squeue", "2", "0", "0.03"],
    ]
    assert "the monitor used 0.8 CPU seconds" in said.err
    assert "retries submitted in the last hour: 1; limit: 60" in said.err
    document = run.json("monitor", "--calls")
    assert document["programs"][3] == {"program": "squeue", "calls": 2, "failed": 0, "cpu_seconds": 0.03}
    assert (document["retries_in_last_hour"], document["max_attempts_per_hour"]) == (1, 60)


@pytest.mark.usefixtures("folder")
def test_every_call_is_in_the_call_log(run: Runner, calls: Callable[[], list[str]], surroundings: Path) -> None:
    assert run.json("status", "demo")["backend_state"] == "RUNNING"
    assert calls() == ["squeue"]
    line = (surroundings.parent / "monitor" / FILE).read_text().split()
    assert (line[1], line[3]) == ("squeue", "ok")
