"""The tests hold wherever they are started from: in the background of a script, too, where signals are ignored."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.children import child

ROOT = Path(__file__).parents[2]
TEST = """\
import signal, subprocess, sys

def test_a_child_can_be_interrupted():
    child = subprocess.Popen([sys.executable, "-c", "print('up', flush=True); import time; time.sleep(60)"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with child:
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=20) == -signal.SIGINT
"""


def test_children_can_be_interrupted_in_background_test_runs(tmp_path: Path) -> None:
    (tmp_path / "test_child.py").write_text(TEST, encoding="utf-8")
    pytest = f"{sys.executable} -m pytest -q -p no:cacheprovider -p tests.conftest {tmp_path}/test_child.py"
    done = subprocess.run(
        ["bash", "-c", f"trap '' INT QUIT; {pytest} --rootdir {tmp_path}"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_processes_started_by_a_test_end_with_it() -> None:
    """A program that is left is complained of in another test, as a ResourceWarning, and makes that fail."""
    files = [path for path in (ROOT / "tests").rglob("*.py") if "bench" not in path.parts]
    starting = {path.name for path in files if "subprocess.Popen(" in path.read_text(encoding="utf-8")}
    assert starting - {Path(__file__).name} == {
        "children.py", "terminal.py", "storm.py", "guest.py",
        # It forks commands until its caller ends.
        "forked.py",
        # Those of histories outlive a call, and are closed at the end of one.
        "driver.py", "people.py",
        # They are programs of jobs: the end of the job ends their children.
        "trainer.py", "test_background.py",
    }  # fmt: skip


def test_a_child_ends_with_a_failed_test() -> None:
    with pytest.raises(ZeroDivisionError), child(["sleep", "600"]) as process:
        divmod(1, 0)
    assert process.returncode == -signal.SIGKILL
