"""Types of plain scalars as OpenPAI's server reads them: neither YAML 1.1 nor 1.2.

Source: js-yaml 3.13, safe schema: booleans are only true and false, `1e-4` is a number, `0o17` is text.
"""

from __future__ import annotations

import re
from base64 import b64decode
from functools import lru_cache
from typing import TYPE_CHECKING

from .document import Bytes, SourceInt, SourceText

if TYPE_CHECKING:
    from collections.abc import Callable

    from .document import Value

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(
    r"""(?P<sign>[-+]?)(?:
          0b(?P<binary>[01_]*[01])
        | 0x(?P<hex>[0-9a-fA-F_]*[0-9a-fA-F])
        | 0(?P<octal>[0-7_]*[0-7])
        | (?P<decimal>0|[1-9](?:[0-9_]*[0-9])?)
        | (?P<sixty>[1-9][0-9_]*(?::[0-5]?[0-9])+)
    )""",
    re.VERBOSE,
)
_FLOAT = re.compile(
    r"""[-+]?(?:0|[1-9][0-9_]*)(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?
      | \.[0-9_]+(?:[eE][-+]?[0-9]+)?
      | [-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*
      | [-+]?\.(?:inf|Inf|INF)
      | \.(?:nan|NaN|NAN)""",
    re.VERBOSE,
)
_DATE = re.compile(
    r"""\d{4}-\d\d-\d\d
      | \d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?""",
    re.VERBOSE | re.ASCII,
)
_MAX_DIGITS = 200
"""More digits are text: no job needs such numbers, and their conversion takes quadratic time."""


@lru_cache(maxsize=1000)
def plain_value(text: str) -> Value:
    """Return the value of a scalar without quotes and tag."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    first = text[0]
    if not (first.isdigit() or first in "+-."):
        return text
    whole = whole_number(text)
    number = decimal_number(text) if whole is None else whole
    if number is not None:
        return number
    return SourceText(text) if _DATE.fullmatch(text) else text


def whole_number(text: str) -> int | None:
    """Return the integer that a text spells, or None."""
    match = _INT.fullmatch(text) if len(text) <= _MAX_DIGITS else None
    if match is None:
        return None
    digits = match[match.lastgroup or ""].replace("_", "")
    bases = {"binary": 2, "hex": 16, "octal": 8, "decimal": 10}
    base = bases.get(match.lastgroup or "")
    value = int(digits, base) if base else int(_base_60(digits))
    value = -value if match["sign"] == "-" else value
    return value if str(value) == text else SourceInt(value, text)


def decimal_number(text: str) -> float | None:
    """Return the floating-point number that a text spells, or None."""
    if len(text) > _MAX_DIGITS or text.endswith("_") or not _FLOAT.fullmatch(text):
        return None
    digits = text.replace("_", "").lower()
    if ":" in digits:
        sign = -1 if digits.startswith("-") else 1
        return sign * _base_60(digits.lstrip("+-"))
    if digits.endswith(("inf", "nan")):
        return float(digits.replace(".", ""))
    return float(digits) if digits != "." else None


def _base_60(digits: str) -> float:
    """Return the value of `1:30:00` in base 60."""
    value: float = 0
    for part in digits.split(":"):
        value = value * 60 + (float(part) if "." in part else int(part))
    return value


def _tagged_float(text: str) -> Value:
    whole = whole_number(text)
    return decimal_number(text) if whole is None else float(whole)


def _tagged_binary(text: str) -> Value:
    """Return bytes as JavaScript's text. Source: js-yaml 3.13, which treats `=` as an ordinary character."""
    digits = re.sub("[\r\n]", "", text)
    if len(digits) % 4 or not re.fullmatch("[A-Za-z0-9+/=]*", digits):
        return None
    bare = digits.replace("=", "")
    bare = bare[:-1] if len(bare) % 4 == 1 else bare
    return Bytes(b64decode(bare + "=" * (-len(bare) % 4)).decode(errors="replace"))


TAGGED: dict[str, Callable[[str], Value]] = {
    "tag:yaml.org,2002:str": str,
    "tag:yaml.org,2002:int": whole_number,
    "tag:yaml.org,2002:float": _tagged_float,
    "tag:yaml.org,2002:bool": _BOOL.get,
    "tag:yaml.org,2002:timestamp": SourceText,
    "tag:yaml.org,2002:binary": _tagged_binary,
}
"""Conversions by tag, None for text that does not match; `!!null` is handled elsewhere."""


def is_null(text: str) -> bool:
    """Whether a text spells null."""
    return text in _NULL
