"""The terminal while the screen is up: keys come one by one, a signal is an event, and all is put back at the end."""

from __future__ import annotations

import codecs
import os
import select
import signal
import termios
import tty
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

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


ESCAPE = "\x1b"
MAX_SEQUENCE = 16
"""So long a sequence that begins with Escape may be; what is longer is no key."""
SEQUENCES = {
    "[A": "up", "[B": "down", "[C": "right", "[D": "left", "OA": "up", "OB": "down", "OC": "right", "OD": "left",
    "[H": "home", "[F": "end", "OH": "home", "OF": "end", "[1~": "home", "[4~": "end", "[7~": "home", "[8~": "end",
    "[5~": "pageup", "[6~": "pagedown", "[Z": "backtab",
}  # fmt: skip
"""Source: XTerm Control Sequences, PC-style function keys; rxvt's home and end."""
SINGLE = {
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x0c": "redraw",
    "\x04": "q",
}


class Keys:
    """Turn bytes into names of keys; a sequence may come in pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._kept = ""

    @property
    def pending(self) -> bool:
        """Tell whether a sequence has begun that has not ended: Escape alone is its own beginning."""
        return bool(self._kept)

    def feed(self, data: bytes) -> list[str]:
        """Return the keys that are complete now: a printable character is itself; what is no key is nothing."""
        text, found = self._kept + self._decoder.decode(data), []
        while text:
            key, text, complete = _first(text)
            if not complete:
                break
            found.append(key)
        self._kept = text
        return [key for key in found if key]

    def flush(self) -> list[str]:
        """Return what has begun when nothing follows for a moment: the key Escape."""
        kept, self._kept = self._kept, ""
        return ["escape"] if kept else []


def _first(text: str) -> tuple[str, str, bool]:
    """Return the first key of a text, the rest of it, and whether the key is complete; "" for what is no key."""
    if text[0] != ESCAPE:
        key = SINGLE.get(text[0]) or (text[0] if text[0].isprintable() else "")
        return key, text[1:], True
    if len(text) == 1:
        return "", text, False
    if text[1] not in "[O":
        return "escape", text[1:], True
    for end in range(2, min(len(text), MAX_SEQUENCE)):
        if "\x40" <= text[end] <= "\x7e":
            return SEQUENCES.get(text[1 : end + 1], ""), text[end + 1 :], True
        if text[end] == ESCAPE:
            return "", text[end:], True
    return "", "" if len(text) >= MAX_SEQUENCE else text, len(text) >= MAX_SEQUENCE
