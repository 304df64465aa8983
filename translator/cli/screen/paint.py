"""Lines of the screen: pieces of text with styles, cut to the width; what is in them acts on nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.text import Text

from ...terminal_text import one_line
from ..output.tables import COLOURS
from .tasks import MARKS

if TYPE_CHECKING:
    from collections.abc import Sequence

Piece = str | tuple[str, str]
"""A text, or a text and its style."""


class Glyphs(NamedTuple):
    """The characters that bars and rules are made of."""

    full: str
    empty: str
    rule: str


UNICODE = Glyphs("█", "░", "─")
ASCII = Glyphs("#", ".", "-")


class Brush(NamedTuple):
    """How wide lines are, and what bars are made of."""

    width: int
    glyphs: Glyphs

    def line(self, *pieces: Piece, style: str = "") -> Text:
        """Return a line of no more than the width."""
        text = Text(no_wrap=True, end="", style=style)
        for piece in pieces:
            words, how = (piece, "") if isinstance(piece, str) else piece
            text.append(self._safe(words), how)
        text.truncate(self.width, overflow="crop")
        return text

    def _safe(self, words: str) -> str:
        """Return what the terminal can show, and acts on nothing."""
        words = one_line(words)
        return words.encode("ascii", "backslashreplace").decode() if self.glyphs is ASCII else words

    def rule(self, title: str) -> Text:
        """Return a rule with a title in it."""
        head = f"{self.glyphs.rule * 2} {self._safe(title)} "
        return self.line((head + self.glyphs.rule * max(0, self.width - cell_len(head)), "dim"))

    def bar(self, done: int, total: int, width: int, *, failed: bool = False) -> Piece:
        """Return a bar of a width; whatever is not all is not full, and what is more than nothing is not empty."""
        full = width * done // total if total else 0
        full = max(full, 1) if done else full
        style = COLOURS["FAILED"] if failed else "cyan" if done < total else "green"
        return (self.glyphs.full * full + self.glyphs.empty * (width - full), style)

    def paragraph(self, text: str, lines: int, style: str = "") -> list[Text]:
        """Return a text in at most so many lines, the last of which is cut."""
        rows = self._folded(text, self.width)
        rows[lines - 1 :] = [" ".join(rows[lines - 1 :])]
        return [self.line((row, style)) for row in rows if row]

    def entry(self, name: str, width: int, text: str) -> list[Text]:
        """Return a name in a column of its width, and all of a text beside it."""
        first, *others = self._folded(text, max(1, self.width - width - 2))
        pairs = [(name, first), *(("", other) for other in others)]
        return [self.columns([(left, width, "bold"), (right, cell_len(right), "")]) for left, right in pairs]

    def _folded(self, text: str, width: int) -> list[str]:
        """Return a text in lines of no more than a width, broken between words unless one is too long."""
        found = [""]
        for word in self._safe(text).split(" "):
            longer = f"{found[-1]} {word}" if found[-1] else word
            if cell_len(longer) <= width:
                found[-1] = longer
            else:
                found += chop_cells(word, width)
        return found[1:] if len(found) > 1 and not found[0] else found

    def columns(self, cells: Sequence[tuple[str, int, str]], *, style: str = "") -> Text:
        """Return a line of cells, each a text, its width and its style; two spaces between them."""
        pieces: list[Piece] = []
        for text, width, how in cells:
            pieces += [(set_cell_size(self._safe(text), width), how), "  "]
        return self.line(*pieces[:-1], style=style)


def state_style(state: str) -> str:
    """Return the style of a state: its colour, and bold where something is wrong."""
    return f"bold {COLOURS[state]}" if state in ("FAILED", "UNKNOWN") else COLOURS.get(state, "")


def counts_pieces(counts: Sequence[tuple[str, int]]) -> list[Piece]:
    """Return how many are in each state, each with its mark, so that it explains the marks."""
    pieces: list[Piece] = []
    for state, count in counts:
        pieces += [(f"{MARKS[state]} {count} {state.lower()}", state_style(state)), "   "]
    return pieces[:-1]
