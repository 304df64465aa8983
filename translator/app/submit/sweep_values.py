"""Arguments of `--sweep` -> the points of a sweep, each with a value for each parameter, as text. Pure."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from itertools import product
from math import prod
from re import DOTALL
from typing import TYPE_CHECKING

from ...errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


MAX_JOBS = 10_000
"""Most jobs of a sweep."""
_FORM = "`--sweep NAME=VALUES`, as in `lr=0.1,0.01`, `seed=1..5` or `rate=0..1..0.25`"
_NUMBER = r"[+-]?(?:[0-9]{1,15}(?:\.[0-9]{1,15})?|\.[0-9]{1,15})"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:\.\.({_NUMBER}))?")
_DOTTED = re.compile(rf"\s*{_NUMBER}\s*\.\..*|.*\.\.\s*{_NUMBER}\s*|.*[^/.]\.\.[^/.].*", DOTALL)
"""Texts that look like a range: a number beside `..`, or `..` between texts that are not folders."""
_SPAN = re.compile(rf"({_NUMBER})[-:]({_NUMBER})")
"""Ranges of other programs: `1-5`, `0.1:0.5`."""
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*')(?=,|$)|[^,]*""")

Point = dict[str, str]


def points(words: Sequence[str], own: Iterable[str] = ()) -> list[Point]:
    """Return the points of a sweep; the last parameter changes fastest.

    A point contains texts as for `--set`; `own` are the parameters of `--set`. Raises UsageError with all errors.
    """
    axes: dict[str, list[str]] = {}
    faults: list[Diagnostic] = []
    for word in words:
        name, equals, text = word.partition("=")
        if not name or not equals or not text:
            faults.append(_fault(f"--sweep {word!r} is not NAME=VALUES"))
            continue
        if name in axes or name in own:
            other = "--set" if name in own else "another --sweep"
            faults.append(_fault(f"--sweep {word!r}: {other} also sets `{name}`"))
        try:
            axes[name] = values(text)
        except ValueError as error:
            faults.append(_fault(f"--sweep {word!r}: {error}"))
    if faults:
        raise UsageError(faults)
    count = prod(map(len, axes.values()))
    if count > MAX_JOBS:
        message = f"the sweep has {count} jobs; the limit is {MAX_JOBS}"
        raise UsageError(Diagnostic(code="E581", message=message, hint="sweep fewer values, or submit several sweeps"))
    return [dict(zip(axes, each, strict=True)) for each in product(*axes.values())]


def values(text: str) -> list[str]:
    """Return the values in a text, each once. Raises ValueError with a message.

    Commas separate values. A value with commas is quoted; `--set` removes the quotes.

    >>> values("0.1,0.01"), values("1..3,9"), values("0..1..0.5"), values("'a,b',c")
    (['0.1', '0.01'], ['1', '2', '3', '9'], ['0.0', '0.5', '1.0'], ["'a,b'", 'c'])
    """
    found: list[str] = []
    for word in _split(text):
        match = _RANGE.fullmatch(word)
        if "..." in word or not match:
            _check_text(word)
        found += _range(*match.groups()) if match else [word]
        if len(found) > MAX_JOBS:
            raise ValueError(f"more than {MAX_JOBS} values")
    return list(dict.fromkeys(found))


def _split(text: str) -> list[str]:
    words, position = [], 0
    while position <= len(text):
        match = _WORD.match(text, position)
        assert match is not None
        word = match[0]
        if not word:
            raise ValueError("a value is missing; write '' for an empty value")
        if word[0] in "'\"" and (len(word) == 1 or word[-1] != word[0]):
            raise ValueError(f"{word} has no closing quotation mark")
        words.append(word)
        position = match.end() + 1
    return words


def _check_text(word: str) -> None:
    """Raise ValueError for an unquoted text that looks like a range but is not one."""
    if word[0] in "'\"":
        return
    if _DOTTED.fullmatch(word):
        raise ValueError(f"{word} is not a range FIRST..LAST or FIRST..LAST..STEP")
    if span := _SPAN.fullmatch(word):
        raise ValueError(f"{word} is not a range: write {span[1]}..{span[2]}{'..STEP' if '.' in word else ''}")


def _range(first: str, last: str, step: str | None) -> list[str]:
    """Return the numbers from the first to the last, with the decimals of the most precise of the three."""
    low, high = Decimal(first), Decimal(last)
    if step is None and not (_is_whole(low) and _is_whole(high) and "." not in first + last):
        raise ValueError(f"the range {first}..{last} needs a step, as in {first}..{last}..0.1")
    width = Decimal(step) if step is not None else Decimal(1)
    if not width:
        raise ValueError("the step of a range cannot be 0")
    if step is None or low == high:
        width = abs(width)
    if (high < low) != (width < 0):
        if step is not None and step[0] in "+-":
            raise ValueError(f"the step {step} does not lead from {first} to {last}")
        width = -width
    try:
        count = int((high - low) / width) + 1
    except (InvalidOperation, OverflowError):
        count = MAX_JOBS + 1
    if count > MAX_JOBS:
        raise ValueError(f"the range {first}..{last} has more than {MAX_JOBS} values")
    decimals = max(len(word.partition(".")[2]) for word in (first, last, step or ""))
    return [f"{low + number * width:.{decimals}f}" for number in range(count)]


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


def _fault(message: str) -> Diagnostic:
    return Diagnostic(code="E580", message=message, hint=f"write {_FORM}; quote text: `\"tag='1..5'\"`")
