"""Text as a terminal may show it: nothing in it acts there. Pure."""

from __future__ import annotations

import re

_MAY_ACT = re.compile(r"[^\x20-\x7e\n\r\t]+")


def escape_control(text: str) -> str:
    r"""Return text in which nothing but line breaks acts on a terminal: `\x1b[2J` is shown, not obeyed."""
    if text.isprintable() or text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def visible(text: str) -> str:
    """Return the text of a file as a person can look at it: like `escape_control`, but tabs and progress bars stay."""
    return _MAY_ACT.sub(lambda found: escape_control(found[0]), text)


def one_line(text: str) -> str:
    """Return text that keeps to one line and acts on nothing: for a cell of a table."""
    return text if text.isprintable() else escape_control(text).replace("\n", "\\n")
