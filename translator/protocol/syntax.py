"""Invalid YAML in human words: what the YAML library says becomes a fault with a place and a hint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..errors import Fault, Place

if TYPE_CHECKING:
    import yaml

_TABS = "indent with spaces: YAML allows no tabs there"
_WORDS: tuple[tuple[str, str, str], ...] = (
    # what the library says (in its context or its problem), what we say, and what to do
    (
        r"mapping values are not allowed",
        "a `:` stands where no key can be",
        "put text that contains `: ` in quotes, and check the indentation of this line and the one above",
    ),
    (
        r"found character '\\t'|found a tab|found character that cannot start any token",
        "this character cannot begin a value",
        "put text that begins with one of @ ` % in quotes",
    ),
    (
        r"while scanning a quoted scalar",
        "a quoted text is not closed",
        "add the missing quote; a quote inside single quotes is written twice, inside double quotes as \\\"",
    ),
    (
        r"while parsing a flow sequence|did not find expected ',' or '\]'",
        "a list in `[ ]` is not closed, or lacks a comma",
        "add the missing `]` or `,`; text that begins with `[` needs quotes",
    ),
    (
        r"while parsing a flow mapping|did not find expected ',' or '\}'",
        "a mapping in `{ }` is not closed, or lacks a comma",
        "add the missing `}` or `,`; text that begins with `{` needs quotes",
    ),
    (
        r"could not find expected ':'",
        "a key without a `:`",
        "write `key: value`; check the indentation of this line and the one above",
    ),
    (
        r"block sequence entries are not allowed",
        "a list item `- ` stands where none can be",
        "begin the list on a line of its own, below its key",
    ),
    (
        r"while parsing a block mapping|did not find expected key|expected <block end>",
        "this line does not belong to the mapping above it",
        "give all keys of a mapping the same indentation; text after a closing quote is not allowed",
    ),
    (
        r"while parsing a block collection|did not find expected '-' indicator",
        "this line does not belong to the list above it",
        "give all items of a list the same indentation, each beginning with `- `",
    ),
    (
        r"undefined tag handle|while parsing a tag|while scanning a tag",
        "a word that begins with `!` is a tag, and this one cannot be read",
        "put text that begins with `!` in quotes",
    ),
    (
        r"while scanning an anchor|while scanning an alias",
        "`&` and `*` at the beginning of a value have a meaning of their own in YAML",
        "put text that begins with `&` or `*` in quotes",
    ),
    (
        r"while scanning a block scalar",
        "this block of text cannot be read",
        "write `|` or `>-` alone at the end of the key's line, and indent the text below with spaces",
    ),
    (
        r"unknown escape character|did not find expected hexdecimal|invalid Unicode character escape",
        "this backslash in double quotes is no escape that YAML knows",
        "use single quotes, where a backslash is a backslash, or write it twice",
    ),
    (
        r"found duplicate anchor|duplicate %",
        "the same thing is declared twice",
        "delete one of the two",
    ),
    (
        r"did not find expected <document start>|expected '<document start>'",
        "this line belongs to nothing above it",
        "give the keys of the file no indentation at all, and all of them the same",
    ),
)


def syntax_fault(error: yaml.MarkedYAMLError, lines: tuple[str, ...], *, file: str) -> Fault:
    """Return the fault for a file that is not YAML."""
    mark = error.problem_mark or error.context_mark
    place = Place(file=file, line=mark.line + 1, column=mark.column + 1) if mark else Place(file=file)
    said = f"{error.context or ''} {error.problem or ''}".strip()
    message, hint = "this is not YAML", ""
    # The escape is the finer word for a fault inside a quoted scalar, so the problem is looked up before the context.
    for part in (error.problem or "", error.context or ""):
        found = next((row for row in _WORDS if part and re.search(row[0], part)), None)
        if found:
            _, message, hint = found
            break
    opened = ""
    if error.context_mark and mark and error.context_mark.line != mark.line:
        opened = f"; it began at line {error.context_mark.line + 1}"
    return Fault(
        code="E104",
        message=f"{message}{opened}" if hint else f"{message}: {said}",
        place=place,
        hint=_hint_of_line(place, lines) or hint,
    )


def _hint_of_line(place: Place, lines: tuple[str, ...]) -> str:
    """Return a hint for what the eye does not see in the line, or nothing."""
    near = lines[max(place.line - 2, 0) : place.line]
    if any(re.match(r" *\t", line) for line in near):
        return _TABS
    if any("\u00a0" in line for line in near):
        return "replace the no-break spaces (U+00A0, often from a web page) of this line by ordinary ones"
    if any(re.search("[\u201c\u201d\u2018\u2019]", line) for line in near):
        return "replace the typographic quotes of this line by ' or \""
    return ""
