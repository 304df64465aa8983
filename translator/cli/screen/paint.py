"""Lines of the screen: pieces of text with styles, cut to the width and escaped."""

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
    """The characters of bars and rules."""

    full: str
    empty: str
    rule: str


UNICODE = Glyphs("█", "░", "─")
ASCII = Glyphs("#", ".", "-")


class Brush(NamedTuple):
    """The width of lines, and the characters of bars."""

    width: int
    glyphs: Glyphs

    def line(self, *pieces: Piece, style: str = "") -> Text:
        """Return a line, cut to the width."""
        text = Text(no_wrap=True, end="", style=style)
        for piece in pieces:
            words, how = (piece, "") if isinstance(piece, str) else piece
            text.append(self._safe(words), how)
        text.truncate(self.width, overflow="crop")
        return text

    def _safe(self, words: str) -> str:
        """Escape control characters and characters that the terminal cannot show."""
        words = one_line(words)
        return words.encode("ascii", "backslashreplace").decode() if self.glyphs is ASCII else words

    def rule(self, title: str) -> Text:
        """Return a rule with a title."""
        head = f"{self.glyphs.rule * 2} {self._safe(title)} "
        return self.line((head + self.glyphs.rule * max(0, self.width - cell_len(head)), "dim"))

    def bar(self, done: int, total: int, width: int, *, failed: bool = False) -> Piece:
        """Return a bar; it is full only if all is done, and empty only if nothing is."""
        full = width * done // total if total else 0
        full = max(full, 1) if done else full
        style = COLOURS["FAILED"] if failed else "cyan" if done < total else "green"
        return (self.glyphs.full * full + self.glyphs.empty * (width - full), style)

    def paragraph(self, text: str, lines: int, style: str = "") -> list[Text]:
        """Return a text in at most `lines` lines; the last one is cut."""
        rows = self._folded(text, self.width)
        rows[lines - 1 :] = [" ".join(rows[lines - 1 :])]
        return [self.line((row, style)) for row in rows if row]

    def entry(self, name: str, width: int, text: str) -> list[Text]:
        """Return a name in a column of `width`, with the wrapped text beside it."""
        first, *others = self._folded(text, max(1, self.width - width - 2))
        pairs = [(name, first), *(("", other) for other in others)]
        return [self.columns([(left, width, "bold"), (right, cell_len(right), "")]) for left, right in pairs]

    def _folded(self, text: str, width: int) -> list[str]:
        """Wrap a text to lines of `width`, between words unless a word is too long."""
        found = [""]
        for word in self._safe(text).split(" "):
            longer = f"{found[-1]} {word}" if found[-1] else word
            if cell_len(longer) <= width:
                found[-1] = longer
            else:
                found += chop_cells(word, width)
        return found[1:] if len(found) > 1 and not found[0] else found

    def columns(self, cells: Sequence[tuple[str, int, str]], *, style: str = "") -> Text:
        """Return a line of cells (text, width, style) with two spaces between them."""
        pieces: list[Piece] = []
        for text, width, how in cells:
            pieces += [(set_cell_size(self._safe(text), width), how), "  "]
        return self.line(*pieces[:-1], style=style)


def state_style(state: str) -> str:
    """Return the style of a state: its colour, bold for FAILED and UNKNOWN."""
    return f"bold {COLOURS[state]}" if state in ("FAILED", "UNKNOWN") else COLOURS.get(state, "")


def counts_pieces(counts: Sequence[tuple[str, int]]) -> list[Piece]:
    """Return the number in each state with its mark; this also explains the marks."""
    pieces: list[Piece] = []
    for state, count in counts:
        pieces += [(f"{MARKS[state]} {count} {state.lower()}", state_style(state)), "   "]
    return pieces[:-1]
