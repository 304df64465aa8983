"""The background monitor's log: it is renamed when it is full, also while the monitor runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from paislurm.translator.app.submit.background import MAX_LOG

MONITOR = """\
import sys
from paislurm.translator.app.session import Session
from paislurm.translator.app.submit.background import rotate_log
rotate_log(Session(home=sys.argv[1]))
print("standard output", flush=True)
print("standard error", file=sys.stderr)
"""


@pytest.mark.parametrize(("size", "is_full"), [(MAX_LOG, False), (MAX_LOG + 1, True)])
@pytest.mark.parametrize("name", ["monitor.log", "other.log"])
def test_a_running_monitor_continues_in_a_new_log_when_its_own_is_full(
    tmp_path: Path, size: int, name: str, *, is_full: bool
) -> None:
    tmp_path.chmod(0o700)
    folder = tmp_path / "monitor"
    folder.mkdir(mode=0o700)
    own = folder / name
    for path in (own, folder / "monitor.log"):
        path.write_bytes(b"x" * size)
    with own.open("ab") as log:
        subprocess.run([sys.executable, "-c", MONITOR, str(tmp_path)], stdout=log, stderr=log, check=True)
    rotates = is_full and name == "monitor.log"
    assert (folder / "monitor.1.log").exists() == rotates
    assert own.read_bytes() == b"x" * (size * (not rotates)) + b"standard output\nstandard error\n"
