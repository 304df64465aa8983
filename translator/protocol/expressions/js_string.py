"""The text that OpenPAI puts in place of a value.

Source: PAI rest-server, rendering of `<% $parameters.x %>` by mustache.js: JavaScript's text of a value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
