"""How the program calls itself: never through the current folder, where another user may have put a `paislurm`."""

from __future__ import annotations

import sys

_CODE = "import sys; sys.path[:] = filter(None, sys.path); from paislurm.translator.cli.start import run; run()"
"""The empty entry is the current folder; `-P` would leave it out, from Python 3.11 on. Source: Python, sys.path."""


def own_call() -> list[str]:
    """Return the words that run this program, by the Python that runs it now, and as much on its own as now."""
    return [sys.executable or "python3", *(["-I"] if sys.flags.isolated else []), "-c", _CODE]
