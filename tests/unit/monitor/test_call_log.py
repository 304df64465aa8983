"""What was asked of Slurm is in the call log, and the attempts of an hour have a ceiling."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.backends.runner import LocalRunner, LoggingRunner
from paislurm.translator.errors import UnreachableError
from paislurm.translator.monitor.polling import call_log
from paislurm.translator.monitor.polling.call_log import (
    FILE,
    HOUR,
    OLDER_FILE,
    Call,
    CallLog,
    costs,
    retry_times,
    room_at,
)


def call(time: float, program: str = "squeue", cpu: float = 0.01, *, failed: bool = False) -> Call:
    return Call(time=time, program=program, cpu=cpu, end="failed" if failed else "ok")


def test_calls_are_recorded_and_summed_up(tmp_path: Path) -> None:
    own = CallLog(tmp_path / "monitor")
    for each in (call(100), call(200, failed=True), call(300, "sacct", 0.25), call(400, "sbatch-retry")):
        own.add(each)
    assert (tmp_path / "monitor" / FILE).stat().st_mode & 0o777 == 0o600
    assert own.calls(150) == [call(200, failed=True), call(300, "sacct", 0.25), call(400, "sbatch-retry")]
    found = [(cost.program, cost.calls, cost.failed, round(cost.cpu, 3)) for cost in costs(own.calls(0))]
    assert found == [("sacct", 1, 0, 0.25), ("sbatch-retry", 1, 0, 0.01), ("squeue", 2, 1, 0.02)]
    assert retry_times(own.calls(0)) == [400]


def test_a_retry_that_did_not_reach_slurm_does_not_count(tmp_path: Path) -> None:
    """One that failed otherwise does: Slurm had to deal with it."""
    own = CallLog(tmp_path)
    own.add(Call(time=1, program="sbatch-retry", cpu=0.01, end="unreached"))
    own.add(call(2, "sbatch-retry", failed=True))
    (cost,) = costs(own.calls(0))
    assert (retry_times(own.calls(0)), cost.failed) == ([2], 2)


def test_a_large_call_log_is_rotated_without_losing_the_last_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_log, "MAX_BYTES", 500)
    own = CallLog(tmp_path)
    for number in range(30):
        own.add(call(number))
    assert (tmp_path / OLDER_FILE).exists()
    times = [each.time for each in own.calls(-1)]
    assert times == list(range(30 - len(times), 30))
    assert len(times) >= 500 // 30


@pytest.mark.parametrize("text", ["", "x\n", "1 squeue\n", "\xff\n", "1.0 squeue 0.1 ok more\n", "one squeue 0.1 ok\n"])
def test_invalid_lines_are_skipped(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text + "5.0 sacct 0.1 ok\n", encoding="latin-1")
    assert [each.time for each in CallLog(tmp_path).calls(0)] == [5.0]


@given(
    due=st.lists(st.floats(0, 4 * HOUR), max_size=80),
    by_hand=st.lists(st.floats(0, 4 * HOUR), max_size=20),
    most=st.integers(1, 12),
)
def test_attempts_stay_within_the_hourly_limit_and_none_is_lost(
    due: list[float], by_hand: list[float], most: int
) -> None:
    """A person's own submits are counted, and never wait."""
    submitted: list[float] = []
    waiting = sorted(due)
    own = sorted(by_hand)
    now = 0.0
    by_monitor: list[float] = []
    while waiting:
        while own and own[0] <= now:
            submitted.append(own.pop(0))
        if waiting[0] > now:
            now = waiting[0]
            continue
        room = room_at(submitted, now, most)
        if room:
            assert now < room <= now + HOUR + 1
            now = room
            continue
        waiting.pop(0)
        submitted.append(now)
        by_monitor.append(now)
    assert len(by_monitor) == len(due)
    for number, when in enumerate(by_monitor):
        assert sum(when - HOUR < other <= when for other in by_monitor[: number + 1]) <= most


def test_the_runner_reports_the_cpu_time_of_each_program() -> None:
    charged: list[tuple[Sequence[str], float, str]] = []
    runner = LoggingRunner(LocalRunner(), lambda *words: charged.append(words))
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    assert runner.run([sys.executable, "-c", busy], timeout=60).status == 0
    assert runner.run([sys.executable, "-c", "raise SystemExit(3)"], timeout=60).status == 3
    with pytest.raises(UnreachableError):
        runner.run(["sleep", "60"], timeout=0.1)
    away = "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)"
    assert runner.run(["sh", "-c", f"echo '{away}' >&2; exit 1"], timeout=60).status == 1
    assert [end for _, _, end in charged] == ["ok", "failed", "failed", "unreached"]
    assert charged[0][1] >= 0.2
    assert charged[2][1] < 0.2
