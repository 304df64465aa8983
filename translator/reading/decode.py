"""Decoding of UTF-8, refusal of control characters, and selection of the lines that messages may show."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import Diagnostic, Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


MAX_FILE = 16 * 1024 * 1024
"""The largest file in bytes that is read; job files are far smaller."""
_FAULTS_SHOWN = 10
_NOT_ALLOWED = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]"
_FOREIGN_BREAK = "[\x85\u2028\u2029]"
_BREAK = "\r\n|[\r\n\x85\u2028\u2029]"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""The first bytes of a file in UTF-16."""


class UndecodableError(Exception):
    """Bytes or characters that job files cannot contain, with their `diagnostics`."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__()
        self.diagnostics = diagnostics


def decode(source: str | bytes, *, file: str) -> str:
    """Return the text of a file, without a byte order mark. Raises `UndecodableError`."""
    if len(source) > MAX_FILE:
        message = f"the file is larger than {MAX_FILE >> 20} MB"
        raise UndecodableError([Diagnostic(code="E103", message=message, location=Location(file=file))])
    text = source if isinstance(source, str) else _utf8(source, file)
    text = text.removeprefix("\ufeff")
    hint = 'delete it, or write it as an escape in double quotes, "\\x1b"'
    _refuse(_NOT_ALLOWED, text, file, hint)
    return text


def refuse_foreign_breaks(text: str, *, file: str) -> None:
    """Refuse line breaks of YAML 1.1 that js-yaml reads as ordinary characters. Raises `UndecodableError`.

    Source: YAML 1.1, b-break; js-yaml 3.13.
    """
    hint = 'delete it, or write it as an escape in double quotes, "\\u2028": to YAML 1.1 it is a line break'
    _refuse(_FOREIGN_BREAK, text, file, hint)


def lines_of(text: str) -> tuple[str, ...]:
    """Return the lines of a text, broken where YAML breaks them."""
    return tuple(re.split(_BREAK, text))


def line_starts(text: str) -> list[int]:
    """Return the offset of each line of a text."""
    return [0, *(match.end() for match in re.finditer(_BREAK, text))]


def _utf8(source: bytes, file: str) -> str:
    try:
        return source.decode("utf-8")
    except UnicodeDecodeError as error:
        before = lines_of(source[: error.start].decode("utf-8"))
        location = Location(file=file, line=len(before), column=len(before[-1]) + 1)
        byte = source[error.start]
        if source[:2] in UTF_16:
            message, hint = "the file is in UTF-16, not in UTF-8", "save it as UTF-8 in your editor"
        else:
            message = f"the file is not UTF-8 text: byte 0x{byte:02x} is invalid"
            hint = "save it as UTF-8 in your editor, or retype this character"
        raise UndecodableError([Diagnostic(code="E101", message=message, location=location, hint=hint)]) from None


def _refuse(characters: str, text: str, file: str, hint: str) -> None:
    """Raise `UndecodableError` with the first such character of each of the first few faulty lines."""
    found: list[re.Match[str]] = []
    position = 0
    while len(found) < _FAULTS_SHOWN and (match := re.compile(characters).search(text, position)):
        found.append(match)
        end = re.compile(_BREAK).search(text, match.end())
        if end is None:
            break
        position = end.end()
    if found:
        raise UndecodableError([_character_error(text, match, file, hint) for match in found])


def _character_error(text: str, match: re.Match[str], file: str, hint: str) -> Diagnostic:
    before = lines_of(text[: match.start()])
    location = Location(file=file, line=len(before), column=len(before[-1]) + 1)
    name = f"U+{ord(match[0]):04X}"
    message = f"the character {name} is not allowed here" + (" (a NUL byte)" if match[0] == "\0" else "")
    return Diagnostic(code="E102", message=message, location=location, hint=hint)


SECRET_KEYS = ("secrets", "auth")
"""Keys whose values are never shown. Source: PAI protocol v2, secrets and auth."""
_NAMES_SECRETS = re.compile(r"(?<![\w$.])(?:secrets?|auth)\b|^---", re.IGNORECASE)
_ALIAS = re.compile(r"(?:^|[\s\[{,:])\*\w")


@lru_cache(maxsize=1024)
def may_name_secrets(key: str) -> bool:
    """Return whether a key is one of secrets, or one mistyped after its first letter."""
    from difflib import get_close_matches

    # As near are `secret`, `Secrets` and `auths`, but not `script`.
    mistyped = key[:1] in {"s", "S", "a", "A"} and get_close_matches(key.lower(), SECRET_KEYS, cutoff=0.75)
    return key in SECRET_KEYS or bool(mistyped)


def shown_of_document(lines: Sequence[str], secrets: Iterable[tuple[int, int]], second: int) -> Sequence[str]:
    """Return the lines of a parsed file; lines that may contain secrets are empty.

    `secrets` are the first and the last line (from 1) of each value below a secret key. `second` is the first line of
    the second document, 0 without one. If secrets have an alias, their text can be anywhere; then no line is
    returned.
    """
    shown = list(lines[: max(0, second - 2)] if second else lines)
    for first, last in secrets:
        if any(map(_ALIAS.search, lines[first - 1 : last])):
            return ()
        shown[first - 1 : last] = [""] * len(shown[first - 1 : last])
    return shown


def shown_of_text(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of an unparsable file up to the first that names secrets or starts another document."""
    for number, line in enumerate(lines):
        if _NAMES_SECRETS.search(line) and (number or not line.startswith("---")):
            return lines[:number]
    return lines


def with_sources(diagnostics: Iterable[Diagnostic], shown: Sequence[str]) -> list[Diagnostic]:
    """Return the diagnostics with the source lines of their locations."""
    return [_with_source(diagnostic, shown) for diagnostic in diagnostics]


def _with_source(diagnostic: Diagnostic, shown: Sequence[str]) -> Diagnostic:
    where = diagnostic.location
    if where is None or not 0 < where.line <= len(shown):
        return diagnostic
    return replace(diagnostic, location=replace(where, source=shown[where.line - 1]))
