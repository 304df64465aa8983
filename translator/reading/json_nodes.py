"""JSON with comments becomes the events of YAML, so that one composer makes values of both.

Comments and commas after a last value are what OpenPAI's published job files have beside JSON.
Source: RFC 8259; PAI protocol v1, and the web portal, which took comments out.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

import yaml

from ..errors import Diagnostic, Location
from .decode import line_starts
from .yaml_nodes import FatalReadError

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/){1,999}", re.DOTALL)
"""Blanks and comments, a bounded number of them: what was matched takes memory until the end."""
_WORD = re.compile(r"/\*?|[^ \t\r\n\[\]{},:\"/]+")
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_HINTS: tuple[tuple[str, str], ...] = (
    (r"/\*", "close the comment with `*/`"),
    (r"#", "begin a comment with `//`"),
    (r"'", "put text in double quotes"),
    ("[\u201c\u201d\u2018\u2019]", 'replace the typographic quotes by "'),
    (".*\u00a0", "replace the no-break spaces (U+00A0, often from a web page) by ordinary ones"),
    (r"(?i:true|false|null|none|yes|no)$", "write `true`, `false` or `null`"),
    (r"[-+.]?[0-9]|[-+]?(?i:nan|inf)", "write a number as 12 or 0.5: no `+`, no leading zeros"),
    (r"", "put text in double quotes"),
)
"""What to do about a word that is no value, by how it begins."""
_UNCLOSED = "a text is not closed on its line"
_STRINGS: tuple[tuple[str, str, str], ...] = (
    (r"Invalid \\", "this backslash is no escape of JSON", "write it twice, `\\\\`"),
    (r"", _UNCLOSED, 'add the missing `"`; inside text a line break is \\n and a tab \\t'),
)
"""What Python's reader says of a text, what we say, and what to do."""
_DECODER = json.JSONDecoder()


_STRING_OR_COMMENT = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|(?:\s+|//[^\n]*|/\*.*?(?:\*/|\Z)){1,999}', re.DOTALL)
"""A text without its end goes to the end of the line: looking further for each quote in it would take for ever."""

_V1_KEY = re.compile(r'"jobName"\s*:|"taskRoles"\s*:\s*\[')

_V2_KEY = re.compile(r'"protocolVersion"\s*:')


def after_blanks(text: str, at: int = 0) -> int:
    """Return where the next token begins: after blanks and comments."""
    while found := _BLANK.match(text, at):
        at = found.end()
    return at


class JsonReader:
    """Turn a text into events; `warnings` gathers what is not JSON, but plain to see through.

    `events` raises `FatalReadError` at the first thing that cannot be read. It goes as deep as values are nested, so
    whoever takes the events has to stop somewhere.
    """

    def __init__(self, text: str, *, file: str) -> None:
        self.warnings: list[Diagnostic] = []
        self._text = text
        self._file = file
        self._at = 0
        self._starts = line_starts(text)

    def events(self) -> Iterator[yaml.Event]:
        """Yield the events of the one value that the text is."""
        yield yaml.DocumentStartEvent()
        self._skip_blanks()
        yield from self._value()
        self._skip_blanks()
        if self._at < len(self._text):
            raise self._diagnostic("the job ends with its last `}`, and something follows", "remove it")
        yield yaml.DocumentEndEvent()

    def _value(self) -> Iterator[yaml.Event]:
        match self._next():
            case "{":
                yield from self._inside("}", yaml.MappingStartEvent, yaml.MappingEndEvent)
            case "[":
                yield from self._inside("]", yaml.SequenceStartEvent, yaml.SequenceEndEvent)
            case '"':
                yield self._string()
            case _:
                yield self._word()

    def _inside(
        self, close: str, start: type[yaml.CollectionStartEvent], end: type[yaml.CollectionEndEvent]
    ) -> Iterator[yaml.Event]:
        """Yield the events of a mapping or a list, which begins here."""
        opened = self._at
        yield start(None, None, True, self._mark(opened), self._mark(opened))
        self._step()
        while self._next() != close:
            if close == "}":
                yield from self._key()
            yield from self._value()
            self._skip_blanks()
            comma = self._at
            if self._next() != ",":
                break
            self._step()
            if self._next() == close:
                location = self._location(comma)
                hint = "delete it: OpenPAI's own reader took no such comma"
                self.warnings.append(
                    Diagnostic(code="W102", message="a comma after the last value", location=location, hint=hint)
                )
        if self._next() != close:
            raise self._unclosed(opened, close)
        yield end(self._mark(self._at), self._mark(self._at + 1))
        self._at += 1

    def _key(self) -> Iterator[yaml.Event]:
        if self._next() != '"':
            word = _WORD.match(self._text, self._at)
            hint = _hint(word[0]) if word else ""
            if word and word[0].isidentifier():
                hint = f'write `"{word[0][:40]}"`'
            raise self._diagnostic("a key in double quotes is expected here", hint)
        yield self._string()
        self._skip_blanks()
        if self._next() != ":":
            raise self._diagnostic("a `:` is missing after the key", 'write `"key": value`')
        self._step()

    def _string(self) -> yaml.Event:
        start = self._at
        try:
            value, self._at = _DECODER.raw_decode(self._text, start)
        except json.JSONDecodeError as error:
            message, hint = next(row[1:] for row in _STRINGS if re.match(row[0], error.msg))
            raise self._diagnostic(message, hint, start if message == _UNCLOSED else error.pos) from None
        return self._scalar(start, value, '"')

    def _word(self) -> yaml.Event:
        start = self._at
        word = _WORD.match(self._text, start)
        if word is None:
            raise self._diagnostic("a value is missing here", "")
        if not _SCALAR.fullmatch(word[0]):
            raise self._diagnostic(f"`{word[0][:40]}` is no value of JSON", _hint(word[0]))
        self._at = word.end()
        return self._scalar(start, word[0], None)

    def _scalar(self, start: int, value: str, style: str | None) -> yaml.Event:
        plain = style is None
        return yaml.ScalarEvent(None, None, (plain, not plain), value, self._mark(start), self._mark(self._at), style)

    def _next(self) -> str:
        """Return the character that comes next, none at the end."""
        return self._text[self._at : self._at + 1]

    def _step(self) -> None:
        self._at += 1
        self._skip_blanks()

    def _skip_blanks(self) -> None:
        self._at = after_blanks(self._text, self._at)

    def _mark(self, at: int) -> yaml.error.Mark:
        line = bisect_right(self._starts, at) - 1
        return yaml.error.Mark(self._file, at, line, at - self._starts[line], None, 0)

    def _location(self, at: int) -> Location:
        mark = self._mark(at)
        return Location(file=self._file, line=mark.line + 1, column=mark.column + 1)

    def _unclosed(self, opened: int, close: str) -> FatalReadError:
        """Return the diagnostic for a list or mapping that goes on where it cannot."""
        if not self._next():
            return self._diagnostic(f"this `{self._text[opened]}` is not closed", f"add the missing `{close}`", opened)
        if self._next() in "]}":
            where = self._location(opened)
            began = f"`{self._text[opened]}` at {where.line}:{where.column}"
            return self._diagnostic(f"a `{close}` is missing before this: it closes the {began}", f"add the `{close}`")
        if _WORD.match(self._text, self._at):
            self._word()
        return self._diagnostic("a `,` is missing before this", "put a `,` after the value in front of it")

    def _diagnostic(self, message: str, hint: str, at: int | None = None) -> FatalReadError:
        at = self._at if at is None else at
        if at >= len(self._text):
            message, at = "the file ends before the job does", len(self._text)
        return FatalReadError(Diagnostic(code="E114", message=message, location=self._location(at), hint=hint))


def _hint(word: str) -> str:
    """Return what to do about a word that JSON does not have."""
    return next(hint for pattern, hint in _HINTS if re.match(pattern, word))


def looks_like_v1(text: str) -> bool:
    """Tell a job file of protocol v1 by its text: JSON, perhaps with comments, of a job or a list of task roles."""
    if not text.startswith("{", after_blanks(text)):
        return False
    bare = _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
    return bool(_V1_KEY.search(bare) and not _V2_KEY.search(bare))
