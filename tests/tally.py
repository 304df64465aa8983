"""Run all tests, for `make test`; at its end, print what a reader of the result must know.

The program runs pytest, then once more what failed: a busy machine can make a test of real daemons run out of its time.
The plugin, which `tests/conftest.py` loads, measures each test and leaves what became of it for the program.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.left_out import reason

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

VARIABLE = "PAISLURM_TALLY"
"""The environment variable that names the file for the tally of a run of pytest."""
AGAIN = ("-n0", "--last-failed", "--last-failed-no-failures=none")
BEGUN = pytest.StashKey[float]()
CPU = "cpu_s"
DEAREST = 20


class Tally(msgspec.Struct):
    """What became of each test of a run, by its id. Without `left_out` and `failed`, it passed."""

    cpu: dict[str, float] = {}
    """Seconds of the processors, fixtures and programs that have ended included; clusters are not."""
    left_out: dict[str, str] = {}
    """The reason, in one line."""
    failed: list[str] = []


def main(argv: Sequence[str]) -> int:
    """Run pytest with these words; return its exit status, 0 if a second try has passed."""
    # The tests get a Ctrl-C of their own.
    signal.signal(signal.SIGINT, lambda *_: None)
    with tempfile.TemporaryDirectory() as name:
        runs = [Path(name, "first"), Path(name, "again")]
        status = run_pytest(argv, runs[0])
        if status == pytest.ExitCode.TESTS_FAILED:
            print("make test: once more, what failed:", flush=True)
            status = run_pytest([*argv, *AGAIN], runs[1])
        tallies = [msgspec.json.decode(file.read_bytes(), type=Tally) for file in runs if file.exists()]
    if tallies:
        print("\n".join(summary(status, *tallies)))
    return status


def run_pytest(words: Sequence[str], file: Path) -> int:
    env = {**os.environ, VARIABLE: str(file)}
    return subprocess.run([sys.executable, "-m", "pytest", *words], env=env, check=False).returncode


def summary(status: int, first: Tally, again: Tally | None = None) -> Iterator[str]:
    """Yield the lines at the end: costs, second tries, and what this machine cannot run."""
    yield "\nCPU by folder:"
    folders: Counter[str] = Counter()
    for test, seconds in first.cpu.items():
        folders["/".join(test.partition("::")[0].split("/")[:-1][:3])] += seconds
    yield from _costs(folders, len(folders))
    yield f"the {DEAREST} dearest tests by CPU:"
    yield from _costs(first.cpu, DEAREST)
    if again:
        passed = again.cpu.keys() - again.failed - again.left_out.keys()
        yield from (f"needed a second try: {test}" for test in first.failed if test in passed)
    left_out = Counter(first.left_out.values())
    word = "failed" if status else "passed"
    yield f"{word}; NOT run here: {left_out.total():,} of {len(first.cpu):,} tests"
    yield from (
        f"  {reason}: {number:,} test{'s' * (number > 1)}"
        for reason, number in sorted(left_out.items(), key=lambda row: (-row[1], row[0]))
    )


def _costs(seconds: Mapping[str, float], most: int) -> Iterator[str]:
    for name in sorted(seconds, key=lambda name: -seconds[name])[:most]:
        yield f"{seconds[name]:9.1f} s  {name}"


def tally(reports: Iterable[object]) -> Tally:
    """Return what the reports of a run come to."""
    found = Tally()
    for report in reports:
        if not isinstance(report, pytest.TestReport | pytest.CollectReport):
            continue
        found.cpu.setdefault(report.nodeid, 0)
        found.cpu[report.nodeid] += dict(getattr(report, "user_properties", ())).get(CPU, 0)
        if report.failed and report.nodeid not in found.failed:
            found.failed.append(report.nodeid)
        elif why := reason(report):
            found.left_out[report.nodeid] = why
    return found


def cpu() -> float:
    """Return the seconds of the processors that this process and its children that have ended have used."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[BEGUN] = cpu()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what a test has cost."""
    report = yield
    if report.when == "teardown":
        report.user_properties.append((CPU, cpu() - item.stash[BEGUN]))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if file := os.environ.get(VARIABLE):
        reports = (report for reports in terminalreporter.stats.values() for report in reports)
        Path(file).write_bytes(msgspec.json.encode(tally(reports)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
