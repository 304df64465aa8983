"""The command line with which the program calls itself, never from the current folder: it may contain a fake one."""

from __future__ import annotations

import sys

_CODE = "import sys; sys.path[:] = filter(None, sys.path); from paislurm.translator.cli.start import run; run()"
"""The empty entry is the current folder; `-P` omits it since Python 3.11. Source: Python, sys.path."""


def own_call() -> list[str]:
    """Return the command line of this program, with this Python and its isolation options."""
    return [sys.executable or "python3", *(["-I"] if sys.flags.isolated else []), "-c", _CODE]
