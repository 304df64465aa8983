"""The tests hold wherever they are started from: in the background of a script, too, where signals are ignored."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def test_children_can_be_interrupted_where_the_tests_run_in_the_background(tmp_path: Path) -> None:
    (tmp_path / "test_child.py").write_text(TEST, encoding="utf-8")
    pytest = f"{sys.executable} -m pytest -q -p no:cacheprovider -p tests.conftest {tmp_path}/test_child.py"
    done = subprocess.run(
        ["bash", "-c", f"trap '' INT QUIT; {pytest} --rootdir {tmp_path}"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout + done.stderr
