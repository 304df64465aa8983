"""A planted bug, and its trial in a copy of the program."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDERS = ("translator", "templates", "backends", "src", "tests", "examples")
SECONDS = 3600
"""The most that a trial takes."""
SEEDS = Path(__file__).with_name("seeds.json")
"""For each bug of the protocol, by its words, a history that notices it: `python -m tests.mutants --seeds` finds it."""


def known_seeds() -> dict[str, int]:
    """Return the histories that notice bugs."""
    found: dict[str, int] = json.loads(SEEDS.read_text()) if SEEDS.exists() else {}
    return found


def keep_seeds(seeds: Mapping[str, int]) -> None:
    """Write histories down, beside those that are known."""
    SEEDS.write_text(json.dumps(known_seeds() | dict(seeds), indent=2, sort_keys=True) + "\n")


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
            shutil.copytree(CHECKOUT / name, folder / name, symlinks=True)
        shutil.copy(CHECKOUT / "pyproject.toml", folder)
        file = folder / self.file
        text = file.read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has the text of this bug {text.count(self.old)} times: {self.what}")
        file.write_text(text.replace(self.old, self.new))
        return folder

    def is_noticed(self, histories: int) -> bool:
        """Return whether the tests fail with the bug: those of pytest, or one of so many histories."""
        if not self.tests:
            return self.first_seed(histories) is not None
        return self._run("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *self.tests).returncode == 1

    def first_seed(self, histories: int, first: int = 0) -> int | None:
        """Return a history that breaks a promise with the bug, None if none does."""
        done = self._run("-m", "tests.simulation", str(histories), str(first), "--first-violation")
        found = re.match(r"seed (\d+): ", done.stdout)
        return int(found[1]) if done.returncode == 1 and found else None

    def _run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        with TemporaryDirectory() as name:
            folder = self.copy(Path(name))
            environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTEST_DEBUG_TEMPROOT": name}
            return subprocess.run(
                [sys.executable, *argv],
                cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False,
            )  # fmt: skip
