"""Lay out files, and programs for a PATH."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts by their paths below a folder, with the folders that they need."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_programs(folder: Path, programs: Mapping[str, str]) -> None:
    """Write scripts that can be called by their names where the folder is in PATH."""
    write_files(folder, programs)
    for name in programs:
        (folder / name).chmod(0o755)
