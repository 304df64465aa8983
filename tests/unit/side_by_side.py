"""Versions of paislurm beside each other: the same source with another number, in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSION = "0.2.0"


@dataclass(frozen=True)
class Installed:
    """Run the program of one version, with one home."""

    python: Path
    environment: dict[str, str]

    def __call__(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run a command line."""
        return subprocess.run(
            [self.python, "-m", "paislurm.translator.cli.start", *argv],
            env=self.environment,
            cwd=self.environment["HOME"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def monitors(self) -> list[int]:
        """Return the processes that are monitors of this version, of this home."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if os.fsencode(self.python) in words[:1] and b"monitor" in words and state != "Z":
                found.append(int(folder.name))
        return found


def install(folder: Path, version: str, environment: dict[str, str]) -> Installed:
    """Install the source as a version; what it depends on comes from the environment that runs the tests."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    (packages,) = folder.glob("lib/python*/site-packages")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src" / "paislurm", packages / "paislurm", ignore=ignored)
    start = packages / "paislurm" / "__init__.py"
    start.write_text(start.read_text(encoding="utf-8").replace(f'"{VERSION}"', f'"{version}"'), encoding="utf-8")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "paislurm" not in entry.name and entry.suffix != ".pth":
            (packages / entry.name).symlink_to(entry)
    return Installed(python, environment)
