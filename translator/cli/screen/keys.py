"""What a terminal sends when keys are pressed, as names of keys. Pure."""

from __future__ import annotations

import codecs

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
