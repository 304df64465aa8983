"""A stand-in for a connection: it runs lines on this machine, and loses answers where a test wants that."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paislurm.backends.ssh.transport import Sent


class Here:
    """Run lines by a shell of this machine. `loses` are the numbers of calls whose answers never come."""

    name = "here"

    def __init__(self, home: Path, path: str, loses: Sequence[int] = ()) -> None:
        self.environment = {"HOME": str(home), "PATH": path}
        self.loses = set(loses)
        self.calls = 0

    def exchange(self, line: str, stdin: bytes, timeout: float) -> tuple[bytes, bytes]:
        self.calls += 1
        done = subprocess.run(
            ["sh", "-c", line], input=stdin, capture_output=True, timeout=timeout, env=self.environment, check=False
        )
        if self.calls in self.loses:
            return done.stdout[: len(done.stdout) // 2], b""
        return done.stdout, done.stderr

    def put(self, files: Sequence[Sent], timeout: float) -> None:
        del timeout
        for each in files:
            shutil.copy(each.here, each.there)
            Path(each.there).chmod(each.mode)

    def attach(self, line: str, *, terminal: bool) -> int:
        del terminal
        return subprocess.run(["sh", "-c", line], env=self.environment, check=False).returncode
