"""What bash says of commands that it reads without running them, and which lines of a job file they are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    Lines = Sequence[tuple[int, int]]
    """Pairs of a line of a command (from 0) and its line in the job file (from 1)."""

_LINE = re.compile(r"^bash: line (\d+): (.*)$")
_ECHO = re.compile(r"^`.*'$")
"""bash repeats the offending line on a line of its own."""


def file_line(lines: Lines, number: int) -> int:
    """Return the line of the job file from which line `number` (from 1) of a command came, or 0."""
    starts = [start for start, _ in lines]
    item = bisect_right(starts, number - 1) - 1
    return lines[item][1] if item >= 0 else 0


def is_bash(text: str) -> bool:
    """Tell whether a text is complete commands of bash; nothing is where there is no bash."""
    return shutil.which("bash") is not None and not bash_says(text)


def bash_says(text: str, *options: str) -> list[tuple[int, str]]:
    """Return the line and the text of each message of `bash -n`."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["bash", "--norc", "--noprofile", *options, "-n"],
            input=text.encode(errors="surrogateescape") + b"\n",
            env=environment,
            capture_output=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stderr.decode(errors="replace").splitlines()
    found = [(int(match[1]), match[2]) for line in lines if (match := _LINE.match(line))]
    return [(number, message) for number, message in found if not _ECHO.match(message)]
