"""How a library is installed that a report needs: as the program itself was."""

from __future__ import annotations

import os
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from ...rendering.shell import quote, word

REQUIREMENT = "vl-convert-python>=1.9"
"""What the extra `report` of the package asks for."""


def install_hint() -> str:
    """Return the command that installs the library where this program runs, or who can do that."""
    if sys.prefix != sys.base_prefix and not os.access(sysconfig.get_path("purelib"), os.W_OK):
        return _by_an_administrator(Path(sys.prefix))
    if find_spec("pip") is not None:
        return f"this installs it: {word(sys.executable)} -m pip install {quote(REQUIREMENT)}"
    return f"this installs it: uv pip install --python {word(sys.executable)} {quote(REQUIREMENT)}"


def _by_an_administrator(environment: Path) -> str:
    """Return what to tell an administrator: install/central.sh has an environment for each version in one folder."""
    begin = f"paislurm is in {environment}, where you may not write: its administrator adds the library"
    if (environment.parent / "modulefiles").is_dir():
        return f"{begin}, by EXTRAS=report install/central.sh {word(str(environment.parent))}"
    return f"{begin}, by {word(sys.executable)} -m pip install {quote(REQUIREMENT)}"
