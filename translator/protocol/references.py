"""Put values in place of `<% $parameters.x %>` and its like: one pass, no escaping.

A reference to nothing is an error here, and so are mustache's other tags, of which OpenPAI said nothing.
Source: PAI rest-server, rendering by mustache.js 2.3 with the delimiters `<%` and `%>`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .collect import near_hint
from .secrets import mark
from .text import NoTextError, js_text

if TYPE_CHECKING:
    from .document import Value

OPEN, CLOSE = "<%", "%>"
ROOTS = ("parameters", "script", "output", "data", "secrets")
_REFERENCE = re.compile(r"(?:\$([A-Za-z_]\w*)|(this)(?=\.parameters\b))((?:\.[^\s.\[\]]+|\[\d+\])*)", re.ASCII)
_STEP = re.compile(r"\.([^\s.\[\]]+)|\[(\d+)\]", re.ASCII)
_FORM = "a reference is `<% $parameters.name %>`; the other roots are $secrets, $data, $script and $output"


@dataclass(frozen=True, slots=True)
class Problem:
    """Say what is wrong with the reference that begins at `offset` of the text."""

    offset: int
    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """Hold the text with its values, what is wrong, and what was replaced: `(start, end, new length)`."""

    text: str
    problems: tuple[Problem, ...]
    replaced: tuple[tuple[int, int, int], ...]

    def moved(self, offset: int) -> int | None:
        """Return where a character of the original text is now, None where it was replaced."""
        shift = 0
        for start, end, length in self.replaced:
            if offset <= start:
                break
            if offset < end:
                return None
            shift += length - (end - start)
        return offset + shift


class _UnresolvedError(Exception):
    """A reference that leads to nothing; `hint` may name what was meant."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def render(text: str, roots: Mapping[str, Value], *, keep: bool = False) -> Rendered:
    """Return the text with the values of `roots` in place of its references.

    In place of a secret stands its mark (see `secrets.py`).
    A root that is None is known but empty: the role selects no such prerequisite. With `keep`, a reference to
    nothing stays as OpenPAI left it, `<% $root.key.0 %>`, and the problem is a warning.
    """
    parts: list[str] = []
    problems: list[Problem] = []
    replaced: list[tuple[int, int, int]] = []
    position = 0
    while (start := text.find(OPEN, position)) >= 0:
        end = text.find(CLOSE, start + len(OPEN))
        if end < 0:
            message = "`<%` begins a reference that has no `%>`"
            hint = "close it with `%>`; where the shell is to see the two characters, write `<''%`"
            problems.append(Problem(start, "E311", message, hint))
            break
        name = text[start + len(OPEN) : end].strip()
        end += len(CLOSE)
        value, problem = _replacement(text[start:end], name, roots, keep=keep)
        if problem:
            problems.append(Problem(start, *problem))
        parts += [text[position:start], value]
        replaced.append((start, end, len(value)))
        position = end
    return Rendered("".join([*parts, text[position:]]), tuple(problems), tuple(replaced))


def _replacement(
    tag: str, name: str, roots: Mapping[str, Value], *, keep: bool
) -> tuple[str, tuple[str, str, str] | None]:
    """Return the text for a tag, and what is wrong with it as code, message and hint."""
    if name[:1] in tuple("#^/!>&{="):
        return tag, ("E312", f"`{_short(tag)}` is no reference, and OpenPAI put nothing in its place", _FORM)
    try:
        value = _resolve(name, roots)
    except NoTextError:
        message = f"`{name}` is a mapping, which has no text of its own"
        return tag, ("E314", message, "name one of the values in it")
    except _UnresolvedError as error:
        if keep:
            kept = "<% " + re.sub(r"\[(\d+)\]", r".\1", name) + " %>"
            return kept, ("W305", f"{error.message}; the command keeps `{_short(kept)}`", error.hint)
        return tag, ("E313", error.message, error.hint)
    return value, None


def _resolve(name: str, roots: Mapping[str, Value]) -> str:
    """Return the text that a reference stands for. Raises `_UnresolvedError` and `NoTextError`."""
    match = _REFERENCE.fullmatch(name)
    if match is None:
        near = (
            f"did you mean `${name}`?"
            if _REFERENCE.fullmatch("$" + name) and name.partition(".")[0] in ROOTS
            else _FORM
        )
        raise _UnresolvedError(f"`{_short(name)}` is no reference", near)
    root, steps = match[1] or match[2], [a or b for a, b in _STEP.findall(match[3])]
    if root == "this" and "this" not in roots:
        raise _UnresolvedError(f"`{_short(name)}` has a meaning only in the callbacks of a prerequisite", _FORM)
    if root not in (*ROOTS, "this"):
        raise _UnresolvedError(
            f"`${root}` is nothing that can be referred to",
            near_hint(f"${root}", [f"${each}" for each in ROOTS]),
        )
    value, shown = roots.get(root), root if match[2] else f"${root}"
    if value is None:
        missing = f"the job has no `{root}`" if root in ("parameters", "secrets") else f"the role selects no `{root}`"
        hint = "give them in a file of their own: `--secrets FILE`" if root == "secrets" else ""
        raise _UnresolvedError(f"`{_short(name)}` leads to nothing: {missing}", hint)
    for step in steps:
        value = _inside(value, step, name, shown)
        shown += f".{step}"
    text = js_text(value)
    if text is not None and root == "secrets":
        return mark(steps)
    if text is None:
        raise _UnresolvedError(
            f"`{_short(name)}` leads to nothing: its value is null", "give it a value, '' for an empty one"
        )
    return text


def _inside(value: Value, step: str, name: str, shown: str) -> Value:
    """Return the value one step further. Raises `_UnresolvedError`."""
    if isinstance(value, Mapping):
        if step in value:
            return value[step]
        raise _UnresolvedError(f"`{_short(name)}` leads to nothing: `{shown}` has no `{step}`", near_hint(step, value))
    if isinstance(value, list):
        if step.isdecimal() and len(step) < len("1000000") and int(step) < len(value):
            inner: Value = value[int(step)]
            return inner
        count = f"{len(value)} item{'' if len(value) == 1 else 's'}"
        raise _UnresolvedError(f"`{_short(name)}` leads to nothing: `{shown}` has {count}, counted from 0")
    raise _UnresolvedError(f"`{_short(name)}` leads to nothing: `{shown}` has no parts")


def _short(text: str) -> str:
    longest = 60
    return " ".join(text.split()) if len(text) <= longest else " ".join(text.split())[: longest - 3] + "..."
