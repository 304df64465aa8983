"""A stand-in for a login node: a folder is its home, and answers are lost where a test says so."""

from __future__ import annotations

import shutil
import subprocess
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path

from paislurm.backends.ssh.transport import Sent


class Here:
    """Run lines with a home of their own. `loses` are calls without an answer; `breaks_at` is a text of such ones."""

    name = "here"

    def __init__(self, home: Path, loses: Sequence[int] = ()) -> None:
        self.home = home
        self.loses = set(loses)
        self.breaks_at = ""
        self.calls = 0
        (home / "bin").mkdir(parents=True, exist_ok=True)
        # A profile prints something, and says where the programs are.
        (home / ".bash_profile").write_text(f"PATH={home}/bin:$PATH\necho welcome\n")

    def program(self, name: str, text: str) -> None:
        """Have a program that is called by its name."""
        path = self.home / "bin" / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def sbatch(self, text: str) -> None:
        self.program("sbatch", text)

    def exchange(self, line: str, stdin: bytes, timeout: float, enough: object) -> tuple[bytes, bytes]:
        del enough
        self.calls += 1
        env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            ["sh", "-c", line], input=stdin, capture_output=True, timeout=timeout, env=env, check=False
        )
        script = b64decode(stdin.split()[1]).decode()
        if self.calls in self.loses or (self.breaks_at and self.breaks_at in script):
            raise ConnectionError
        return done.stdout, done.stderr

    def put(self, files: Sequence[Sent], timeout: float) -> None:
        del timeout
        for each in files:
            shutil.copyfile(each.local, each.remote)
            Path(each.remote).chmod(each.mode)

    def attach(self, line: str, *, terminal: bool) -> int:
        del terminal
        env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        return subprocess.run(["sh", "-c", line], env=env, check=False).returncode

    @property
    def remains(self) -> list[str]:
        """What is in the folder of all jobs that came from elsewhere."""
        return sorted(path.name for path in (self.home / ".paislurm/remote").iterdir())
