"""The job files of `examples/`; a program and site profiles are there, too."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(file for file in FOLDER.iterdir() if file.suffix in {".json", ".yaml"} and file.name != "site.yaml")
