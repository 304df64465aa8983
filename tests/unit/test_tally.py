"""`make test` at its end: what was left out, what needed a second try, and what tests cost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tally import Tally, summary

ROOT = Path(__file__).parents[2]
FILE = """
from pathlib import Path
import pytest
from tests.left_out import not_asked

def test_passes(): pass
def test_fails_once():
    first = not (tried := Path("tried")).exists()
    tried.touch()
    assert not first
def test_is_skipped(): pytest.skip("needs root")
@pytest.mark.skipif(True, reason="needs root")
def test_is_marked(): pass
@pytest.fixture
def cluster(): pytest.skip("needs namespaces")
def test_has_a_fixture(cluster): pass
def test_does_not_exist(): not_asked("this Slurm has none")
@pytest.mark.parametrize("file", [])
def test_published(file): pass
@pytest.mark.xfail(strict=True)
def test_is_a_known_fault(): assert False
"""


def run(folder: Path, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of the file, without any variable that this run of pytest has set."""
    (folder / "tests/unit/cli/jobs").mkdir(parents=True)
    (folder / "conftest.py").write_text('pytest_plugins = ["tests.left_out", "tests.tally"]\n')
    (folder / "tests/unit/cli/jobs/test_file.py").write_text(FILE)
    (folder / "pytest.ini").write_text("[pytest]\n")
    own = {name: text for name, text in os.environ.items() if not name.startswith(("PAISLURM_", "PYTEST_"))}
    argv = [sys.executable, "-m", "tests.tally", "-q", *options]
    env = {**own, "PYTHONPATH": str(ROOT), **env}
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_the_last_lines_have_what_was_left_out_and_second_tries(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("""
needed a second try: tests/unit/cli/jobs/test_file.py::test_fails_once
passed; NOT run here: 5 of 8 tests
  needs root: 2 tests
  PAISLURM_OPENPAI_JOBS names no folder of published job files: 1 test
  needs namespaces: 1 test
  this Slurm has none: 1 test
""")
    costs = done.stdout.partition("CPU by folder:\n")[2].splitlines()
    assert costs[0].endswith(" s  tests/unit/cli")
    assert costs[1] == "the 20 dearest tests by CPU:"
    assert len([line for line in costs if "::" in line and " s  tests/" in line]) == 8


def test_a_test_that_ci_cannot_run_has_failed(tmp_path: Path) -> None:
    done = run(tmp_path, "-k", "not once", PAISLURM_REQUIRE_CLUSTER="1")
    assert done.returncode == 1
    assert done.stdout.endswith("""
failed; NOT run here: 2 of 7 tests
  PAISLURM_OPENPAI_JOBS names no folder of published job files: 1 test
  this Slurm has none: 1 test
""")
    for reason, times in (("needs root", 2), ("needs namespaces", 1)):
        assert done.stdout.partition("once more")[0].count(f"\nleft out: {reason}\n") == times


def test_a_run_that_does_not_begin_has_no_second_try(tmp_path: Path) -> None:
    done = run(tmp_path, "--no-such-option")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "once more" not in done.stdout


def test_costs_are_sorted_and_added_by_folder() -> None:
    cpu = {f"tests/unit/cli/test_a.py::test_{number}": float(number) for number in range(30)}
    lines = list(summary(0, Tally(cpu={**cpu, "tests/cluster/test_b.py::test": 1000.0})))
    begin = lines.index("the 20 dearest tests by CPU:")
    assert lines[1:begin] == ["   1000.0 s  tests/cluster", "    435.0 s  tests/unit/cli"]
    assert lines[begin + 1 : begin + 3] == [
        "   1000.0 s  tests/cluster/test_b.py::test", "     29.0 s  tests/unit/cli/test_a.py::test_29",
    ]  # fmt: skip
    assert len(lines) == begin + 22
    assert lines[-1] == "passed; NOT run here: 0 of 31 tests"
