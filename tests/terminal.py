"""A program on a terminal, as a person has it: it is the controlling terminal, and what is typed goes through it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE = 60.0


class Terminal:
    """A program that runs on a terminal of its own, and all that it has shown."""

    def __init__(self, argv: Sequence[str], *, rows: int, columns: int) -> None:
        self._master, slave = pty.openpty()
        self._slave = slave
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *argv], stdin=slave, stdout=slave, stderr=slave, start_new_session=False
        )
        self.shown = ""

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the window; the kernel tells who is in front of it."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: str) -> None:
        """Type text as it is: a line ends with a carriage return."""
        os.write(self._master, text.encode())

    def expect(self, pattern: str) -> str:
        """Wait until what is shown has the pattern, forget it up to there, and return it."""
        deadline = time.monotonic() + PATIENCE
        while not (match := re.search(pattern, self.shown)):
            ready, _, _ = select.select([self._master], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {pattern!r} in {self.shown!r}"
            self.shown += os.read(self._master, 1 << 16).decode(errors="replace")
            # Bash tells the terminal when it reads a line.
            self.shown = re.sub("\x1b\\[\\?2004[hl]\r?", "", self.shown)
        self.shown = self.shown[match.end() :]
        return match[0]

    def ended(self) -> int:
        """Wait for the end of the program and return its exit code."""
        return self.process.wait(PATIENCE)

    def settings(self) -> list[object]:
        """Return how the terminal is set, to be compared with `before`."""
        return termios.tcgetattr(self._slave)

    def hang_up(self) -> None:
        """Take the terminal away, as the end of a connection does: its session gets HUP."""
        os.close(self._slave)
        os.close(self._master)
        self._master = self._slave = -1

    def close(self) -> None:
        """End the program if it runs, and hang up."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        if self._master >= 0:
            os.close(self._master)
            os.close(self._slave)
