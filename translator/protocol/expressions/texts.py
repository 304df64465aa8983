"""The text that OpenPAI puts in place of a value, and where characters of a text are after parts of it were replaced.

Source: PAI rest-server, rendering of `<% $parameters.x %>` by mustache.js: JavaScript's text of a value.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...reading.document import Value


class NotAStringError(ValueError):
    """A value has no text: it is a mapping."""


def js_string(value: Value) -> str | None:
    """Return the text of a value, None for null. Lists are joined by commas.

    Integers keep all their digits, where JavaScript loses those beyond 2**53. Raises `NotAStringError` for a
    mapping.

    >>> js_text([1.0, 1e-4, True, "x"])
    '1,0.0001,true,x'
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _number_text(value)
    if isinstance(value, Mapping):
        raise NotAStringError
    return ",".join(js_string(item) or "" for item in value)


def _number_text(value: float) -> str:
    """Return a number as JavaScript does: plain digits from 1e-6 to below 1e21, an exponent beyond."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    if 1e-6 <= abs(value) < 1e21:
        from decimal import Decimal

        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = repr(value).partition("e")
    power = int(exponent)
    return f"{mantissa.removesuffix('.0')}e{'+' if power > 0 else '-'}{abs(power)}"


Replaced = tuple[int, int, int]
"""A part that was replaced: where it began and ended, and how long the text in its place is."""


class Moves:
    """Follow characters through one pass over a text; `replaced` are its parts in their order."""

    def __init__(self, replaced: Sequence[Replaced]) -> None:
        self._replaced = replaced
        self._starts = [start for start, _, _ in replaced]
        self._shifts = list(accumulate((length - (end - start) for start, end, length in replaced), initial=0))
        self._new_starts = [start + shift for start, shift in zip(self._starts, self._shifts, strict=False)]

    def forward(self, offset: int) -> int | None:
        """Return where a character of the old text is now; None where it was replaced, but for the first one."""
        number = bisect_left(self._starts, offset)
        if number and offset < self._replaced[number - 1][1]:
            return None
        return offset + self._shifts[number]

    def back(self, offset: int) -> int:
        """Return where a character of the new text was; of one that was put in, where the part in its place began."""
        number = bisect_right(self._new_starts, offset)
        if number and offset < self._new_starts[number - 1] + self._replaced[number - 1][2]:
            return self._starts[number - 1]
        return offset - self._shifts[number]
