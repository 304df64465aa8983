"""The terminal while the screen is up: keys come one by one, a signal is an event, and all is put back at the end."""

from __future__ import annotations

import os
import select
import signal
import termios
import tty
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from .keys import Keys

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ESCAPE_SECONDS = 0.1
"""So long after Escape a sequence goes on that begins with it."""
ENDING = (signal.SIGTERM, signal.SIGHUP)
EVENTS = (signal.SIGWINCH, signal.SIGTSTP, *ENDING)


class Terminal:
    """Read keys of standard input; `wake`, of any thread, ends the waiting for one."""

    def __init__(self) -> None:
        self._input = 0
        self._keys = Keys()
        self._before = termios.tcgetattr(self._input)
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        self._signals: list[int] = []

    def wake(self) -> None:
        """Let `read` return."""
        # A full pipe wakes as well.
        with suppress(OSError):
            os.write(self._writer, b".")

    def read(self, seconds: float) -> list[str]:
        """Return the keys that were pressed, after `seconds` at the latest; none when something else woke it.

        `stop` stands for Ctrl-Z, `redraw` for another size of the window, `ended` for SIGTERM or a lost terminal.
        """
        ready, _, _ = select.select([self._input, self._reader], [], [], seconds)
        if self._reader in ready:
            with suppress(OSError):
                os.read(self._reader, 4096)
        keys = self._signal_keys()
        if self._input in ready:
            keys += self._read_keys()
        return keys

    def _read_keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            try:
                data = os.read(self._input, 1024)
            except OSError:
                data = b""
            if not data:
                return [*keys, "ended"]
            keys += self._keys.feed(data)
            if not self._keys.pending:
                return keys
            if not select.select([self._input], [], [], ESCAPE_SECONDS)[0]:
                return keys + self._keys.flush()

    def _signal_keys(self) -> list[str]:
        caught, self._signals = self._signals, []
        names = {signal.SIGWINCH: "redraw", signal.SIGTSTP: "stop"}
        return [names.get(signal.Signals(number), "ended") for number in caught]

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have keys come one by one, without an echo; afterwards the terminal is as it was."""

        def note(number: int, _: FrameType | None) -> None:
            self._signals.append(number)
            self.wake()

        handlers = {number: signal.signal(number, note) for number in EVENTS}
        tty.setcbreak(self._input, termios.TCSADRAIN)
        try:
            yield
        finally:
            with suppress(termios.error):
                termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)
            for number, handler in handlers.items():
                signal.signal(number, handler)
