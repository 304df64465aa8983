"""A planted bug, and its trial in a copy of the program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDERS = ("translator", "templates", "backends", "src", "tests", "examples")
SECONDS = 600
"""The most that a trial takes."""


class Mutant(NamedTuple):
    """A bug: in a file one text becomes another. `tests` are words of pytest; without any the simulator plays."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()

    def copy(self, folder: Path) -> Path:
        """Copy the program and plant the bug. Raises ValueError if the text is not there exactly once."""
        for name in FOLDERS:
            shutil.copytree(CHECKOUT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(CHECKOUT / "pyproject.toml", folder)
        file = folder / self.file
        text = file.read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has the text of this bug {text.count(self.old)} times: {self.what}")
        file.write_text(text.replace(self.old, self.new))
        return folder

    def is_noticed(self, histories: int) -> bool:
        """Whether the tests fail with the bug."""
        argv: Sequence[str] = ("-m", "tests.simulation", str(histories), "--first-violation")
        if self.tests:
            argv = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *self.tests)
        with TemporaryDirectory() as name:
            folder = self.copy(Path(name))
            environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run(
                [sys.executable, *argv], cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False
            )
            return done.returncode == 1
