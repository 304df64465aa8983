"""What the program sets for itself stays in its process."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CODE = """
import os, sys
from paislurm.translator.cli import main, start
def run():
    import pydantic
    pydantic.create_model("Model", number=(int, ...))(number=1)
    print({"importlib.metadata", "stranger"} & sys.modules.keys(), os.environ == before)
    sys.exit()
main.run = run
before = dict(os.environ)
start.run()
"""


def test_plugins_of_pydantic_are_neither_searched_for_nor_imported(tmp_path: Path) -> None:
    (tmp_path / "stranger.py").write_text("raise SystemExit(1)")
    metadata = tmp_path / "stranger-1.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text("[pydantic]\nstranger = stranger:plugin\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    words = [sys.executable, "-c", CODE]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()", "True"]
