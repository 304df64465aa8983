"""Stand-ins for the programs and libraries that job files of `examples/` and of the pages call.

`bin` goes before PATH, `python` before PYTHONPATH. They start what the real ones start, and where those would: by ssh,
at the address and at the port that the job names. They train nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent


def with_standins(environment: Mapping[str, str], folder: Path = FOLDER) -> dict[str, str]:
    """Return the PATH and PYTHONPATH of an environment, with the stand-ins (or a copy of them) first."""
    first = {"PATH": folder / "bin", "PYTHONPATH": folder / "python"}
    return {name: os.pathsep.join(filter(None, (str(path), environment.get(name)))) for name, path in first.items()}
