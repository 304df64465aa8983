"""The job files of `examples/`; a program and site profiles are there, too."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(file for file in FOLDER.iterdir() if file.suffix in {".json", ".yaml"} and file.name != "site.yaml")
NOT_RUN = {"deepspeed", "ray", "ray-roles"}
"""Examples that are compiled only: their libraries are large, and a stand-in would not show that they work."""
RUNNABLE = [file for file in EXAMPLES if file.stem not in NOT_RUN]
