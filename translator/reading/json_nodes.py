"""JSON with comments as YAML events, so that one composer serves both formats.

OpenPAI's published job files have comments, and commas after the last value.
Source: RFC 8259; PAI protocol v1, and the web portal, which removed comments.
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
"""Blanks and comments; the bound limits the memory of the match."""
_WORD = re.compile(r"/\*?|[^ \t\r\n\[\]{},:\"/]+")
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_HINTS: tuple[tuple[str, str], ...] = (
    (r"/\*", "close the comment with `*/`"),
    (r"#", "begin a comment with `//`"),
    (r"'", "use double quotes"),
    ("[\u201c\u201d\u2018\u2019]", 'replace the typographic quotes by "'),
    (".*\u00a0", "replace the no-break spaces (U+00A0, often from a web page) by ordinary spaces"),
    (r"(?i:true|false|null|none|yes|no)$", "write `true`, `false` or `null`"),
    (r"[-+.]?[0-9]|[-+]?(?i:nan|inf)", "write a number as 12 or 0.5: no `+`, no leading zeros"),
    (r"", "use double quotes"),
)
"""Hints for an invalid word, by its beginning."""
_UNCLOSED = "a text has no closing quote on its line"
_STRINGS: tuple[tuple[str, str, str], ...] = (
    (r"Invalid \\", "this backslash is not an escape of JSON", "write it twice, `\\\\`"),
    (r"", _UNCLOSED, 'add the missing `"`; inside text a line break is \\n and a tab \\t'),
)
"""Messages of Python's reader, with our messages and hints."""
_DECODER = json.JSONDecoder()


_STRING_OR_COMMENT = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|(?:\s+|//[^\n]*|/\*.*?(?:\*/|\Z)){1,999}', re.DOTALL)
"""A text without a closing quote ends with the line: a longer search for each quote would take quadratic time."""

_V1_KEY = re.compile(r'"jobName"\s*:|"taskRoles"\s*:\s*\[')

_V2_KEY = re.compile(r'"protocolVersion"\s*:')


def after_blanks(text: str, at: int = 0) -> int:
    """Return the offset of the next token, after blanks and comments."""
    while found := _BLANK.match(text, at):
        at = found.end()
    return at


class JsonReader:
    """Turn a text into events; `warnings` collects harmless deviations from JSON.

    `events` raises `FatalReadError` at the first error. It recurses as deep as the values are nested; the consumer
    must limit the depth.
    """

    def __init__(self, text: str, *, file: str) -> None:
        self.warnings: list[Diagnostic] = []
        self._text = text
        self._file = file
        self._at = 0
        self._starts = line_starts(text)

    def events(self) -> Iterator[yaml.Event]:
        """Yield the events of the single value of the text."""
        yield yaml.DocumentStartEvent()
        self._skip_blanks()
        yield from self._value()
        self._skip_blanks()
        if self._at < len(self._text):
            raise self._diagnostic("unexpected text after the last `}` of the job", "remove it")
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
        """Yield the events of the mapping or list that starts here."""
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
                hint = "delete it: OpenPAI refuses such a comma"
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
            raise self._diagnostic("expected a key in double quotes", hint)
        yield self._string()
        self._skip_blanks()
        if self._next() != ":":
            raise self._diagnostic("expected a `:` after the key", 'write `"key": value`')
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
            raise self._diagnostic("expected a value", "")
        if not _SCALAR.fullmatch(word[0]):
            raise self._diagnostic(f"`{word[0][:40]}` is not a JSON value", _hint(word[0]))
        self._at = word.end()
        return self._scalar(start, word[0], None)

    def _scalar(self, start: int, value: str, style: str | None) -> yaml.Event:
        plain = style is None
        return yaml.ScalarEvent(None, None, (plain, not plain), value, self._mark(start), self._mark(self._at), style)

    def _next(self) -> str:
        """Return the next character, "" at the end."""
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
        """Return the diagnostic for a list or mapping with a missing comma or bracket."""
        if not self._next():
            return self._diagnostic(f"this `{self._text[opened]}` is not closed", f"add the missing `{close}`", opened)
        if self._next() in "]}":
            where = self._location(opened)
            began = f"`{self._text[opened]}` at {where.line}:{where.column}"
            return self._diagnostic(f"expected a `{close}` before this, to close the {began}", f"add the `{close}`")
        if _WORD.match(self._text, self._at):
            self._word()
        return self._diagnostic("expected a `,` before this", "add a `,` after the previous value")

    def _diagnostic(self, message: str, hint: str, at: int | None = None) -> FatalReadError:
        at = self._at if at is None else at
        if at >= len(self._text):
            message, at = "the file ends inside the job", len(self._text)
        return FatalReadError(Diagnostic(code="E114", message=message, location=self._location(at), hint=hint))


def _hint(word: str) -> str:
    return next(hint for pattern, hint in _HINTS if re.match(pattern, word))


def looks_like_v1(text: str) -> bool:
    """Whether a text looks like a job file of protocol v1: JSON of a job or a list of task roles."""
    if not text.startswith("{", after_blanks(text)):
        return False
    bare = _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
    return bool(_V1_KEY.search(bare) and not _V2_KEY.search(bare))
