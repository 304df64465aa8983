"""The rounds of cron: what is kept of them, and when the next one is overdue."""

from __future__ import annotations

from pathlib import Path

import pytest

from paislurm.translator.state.monitor_runs import (
    FILE,
    KEPT,
    MAX_BYTES,
    MonitorRun,
    Who,
    add,
    expected_seconds,
    monitor_runs,
    overdue,
)

NOW = 1_700_000_000


def every(seconds: int, number: int, who: Who = "cron", until: int = NOW) -> list[MonitorRun]:
    return [MonitorRun(until - seconds * back, who) for back in reversed(range(number))]


def test_monitor_runs_are_stored_in_order(tmp_path: Path) -> None:
    wanted = [MonitorRun(NOW, "submit"), MonitorRun(NOW + 5, "cron"), MonitorRun(NOW + 9, "person")]
    for each in (wanted[1], wanted[0], wanted[2]):
        add(tmp_path / "monitor", each)
    assert monitor_runs(tmp_path / "monitor") == wanted
    assert (tmp_path / "monitor" / FILE).stat().st_mode & 0o777 == 0o600


def test_invalid_entries_are_skipped(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff cron\n5\n7 nobody\n-1 cron\n8 cron\n9 cr")
    assert monitor_runs(tmp_path) == [MonitorRun(8, "cron")]
    assert monitor_runs(tmp_path / "nowhere") == []


def test_the_file_size_is_limited(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"1700000000 cron\n" * (MAX_BYTES // 16))
    add(tmp_path, MonitorRun(NOW + 300, "cron"))
    assert len(monitor_runs(tmp_path)) == KEPT
    assert monitor_runs(tmp_path)[-1] == MonitorRun(NOW + 300, "cron")


@pytest.mark.parametrize(
    ("found", "seconds"),
    [
        ([], 900),
        ([MonitorRun(NOW, "cron")], 900),
        (every(300, 5), 900),
        (every(600, 5), 1800),
        (every(86400, 2), 3 * 86400),
        # An outage in between has no effect.
        ([*every(600, 5, until=NOW - 50_000), *every(600, 5)], 1800),
        # A person is no clock.
        ([*every(600, 5), *every(1, 9, "person")], 1800),
    ],
)
def test_a_run_is_overdue_after_the_usual_interval(found: list[MonitorRun], seconds: int) -> None:
    assert expected_seconds(found) == seconds
    assert overdue(found, NOW + seconds) is None or found[-1].who == "person"
    assert (overdue(found, NOW + seconds + 1) is None) == (not found)


def test_the_first_submit_starts_the_wait_and_manual_runs_do_not_end_it() -> None:
    begun = MonitorRun(NOW, "submit")
    assert overdue([begun], NOW + 900) is None
    assert overdue([begun, MonitorRun(NOW + 890, "person")], NOW + 901) == begun
    assert overdue([begun, MonitorRun(NOW + 890, "scrontab")], NOW + 901) is None
