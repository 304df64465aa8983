"""Replacement of references such as `<% $parameters.x %>` by values, without escaping.

An undefined reference is an error; so are mustache's other tags, which OpenPAI does not document. References in an
inserted value are not expanded, except those to secrets: OpenPAI inserted secrets last.
Source: PAI rest-server, rendering by mustache.js 2.3 with the delimiters `<%` and `%>`; PAI runtime, which rendered
the server's commands with the secrets, and found references in plugins by a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ...plural import counted
from ...reading.decode import MAX_FILE
from .secrets import placeholder
from .texts import Moves, NotAStringError, js_string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...reading.document import Value
    from .texts import Replaced

OPEN, CLOSE = "<%", "%>"
ROOTS = ("parameters", "script", "output", "data", "secrets")
_INDEX = re.compile(r"\[(\d+)\]", re.ASCII)
_POSITION = re.compile(r"0|[1-9]\d{0,5}", re.ASCII)
_BEGINS_REFERENCE = re.compile(r"<%\s*(?:\$|this\.)")
_ROOT = re.compile(r"\$[A-Za-z_]\w*", re.ASCII)
_FORM = "write a reference as `<% $parameters.name %>`; the other roots are $secrets, $data, $script and $output"

TOO_LONG = f"the job's texts up to here exceed {MAX_FILE >> 20} MB after references are replaced"
HINT_AT_LENGTH = "put large values into a file that the tasks read"

Near = tuple[str, "Iterable[str]"]
"""An unknown name, and the known names."""


class Problem(Struct, frozen=True):
    """A fault in the reference at `offset` of the text; `near` can give a hint."""

    offset: int
    code: str
    message: str
    hint: str = ""
    near: Near | None = None


class Rendered(Struct, frozen=True):
    """The text with values, the faults, and the moves of its characters in each pass."""

    text: str
    problems: tuple[Problem, ...]
    passes: tuple[Moves, ...]

    def moved(self, offset: int) -> int | None:
        """Return the new offset of a character of the original text, None if it was replaced."""
        now: int | None = offset
        for moves in self.passes:
            now = None if now is None else moves.forward(now)
        return now


class TextBudget:
    """Limit the length of a job's texts: a few references can expand a small file to gigabytes."""

    def __init__(self, left: int = MAX_FILE) -> None:
        self.left = left

    def take(self, count: int) -> bool:
        """Take `count` characters from the budget; return False if it is exceeded."""
        self.left -= count
        return self.left >= 0


class _TooLongError(Exception):
    """The text exceeds the budget after references are replaced."""


class _UnresolvedError(Exception):
    """An undefined reference; `hint` or `near` may suggest the right one."""

    def __init__(self, message: str, hint: str = "", near: Near | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.near = near


class _ReportedError(Exception):
    """A reference into a value whose wrong type is an error already."""


def render(text: str, roots: Mapping[str, Value], *, keep: bool = False, budget: TextBudget | None = None) -> Rendered:
    """Return the text with the values of `roots` in place of its references; the length counts against the budget.

    A reference to a secret becomes a mark (see `secrets.py`).
    A root is None if the role selects no such prerequisite. The root `this` exists only in texts of
    prerequisites and plugins; there `<%` can be other text, as in `printf "<%s>"`. With `keep`, an undefined
    reference stays as on OpenPAI, `<% $root.key.0 %>`, and is only a warning.
    """
    if OPEN not in text:
        return Rendered(text, (), ())
    problems: list[Problem] = []
    stays: list[tuple[int, str]] = []
    budget = budget or TextBudget()

    def put(start: int, tag: str) -> str:
        value, problem = _replacement(start, tag, roots, keep=keep)
        if not budget.take(len(value)):
            problems.append(Problem(start, "E321", TOO_LONG, HINT_AT_LENGTH))
            raise _TooLongError
        if problem:
            problems.append(problem)
            stays.append((start, value))
        return value

    def put_secret(start: int, tag: str) -> str:
        value, problem = _secret(first.back(start), tag, roots, keep=keep)
        problems.extend([problem] if problem else [])
        return value

    try:
        new, replaced, unclosed = _pass(text, put, {}, others="this" in roots)
    except _TooLongError:
        return Rendered("", tuple(problems), ())
    if unclosed is not None and ("this" not in roots or _BEGINS_REFERENCE.match(text, unclosed)):
        problems.append(_unclosed(unclosed))
    first = Moves(replaced)
    left = {first.forward(start) or 0: len(value) for start, value in stays}
    new, replaced, _ = _pass(new, put_secret, left, others="this" in roots)
    return Rendered(new, tuple(problems), (first, Moves(replaced)))


def _pass(
    text: str, put: Callable[[int, str], str], left: Mapping[int, int], *, others: bool
) -> tuple[str, list[Replaced], int | None]:
    """Return the text with its tags replaced by `put`, the replaced parts, and the offset of an unclosed tag.

    `left` are tags to keep, by offset with their lengths. With `others`, a `<%` in front of a reference is other text.
    """
    parts: list[str] = []
    replaced: list[Replaced] = []
    position, unclosed = 0, None
    start = text.find(OPEN)
    while start >= 0:
        if start in left:
            start = text.find(OPEN, start + left[start])
            continue
        close = text.find(CLOSE, start + len(OPEN))
        if close < 0:
            unclosed = start
            break
        if others and (begun := _BEGINS_REFERENCE.search(text, start, close)):
            start = begun.start()
        end = close + len(CLOSE)
        value = put(start, text[start:end])
        parts += [text[position:start], value]
        replaced.append((start, end, len(value)))
        position = end
        start = text.find(OPEN, end)
    return "".join([*parts, text[position:]]), replaced, unclosed


def _unclosed(start: int) -> Problem:
    hint = "add `%>`; to pass the two characters to the shell, write `<''%`"
    return Problem(start, "E311", "the reference that begins with `<%` has no `%>`", hint)


def _name(tag: str) -> str:
    return tag[len(OPEN) : -len(CLOSE)].strip()


def _replacement(start: int, tag: str, roots: Mapping[str, Value], *, keep: bool) -> tuple[str, Problem | None]:
    """Return the replacement of a tag, and its fault."""
    name = _name(tag)
    if OPEN in name and not keep:
        return tag, _unclosed(start)
    if name[:1] in tuple("#^/!>&{="):
        message = f"`{_short(tag)}` is not a reference; OpenPAI removed it"
        return tag, Problem(start, "E312", message, _FORM)
    try:
        return _resolve(name, roots), None
    except _ReportedError:
        return "", None
    except NotAStringError:
        message = f"`{name}` is a mapping, not a text"
        return tag, Problem(start, "E314", message, "name one of the values in it")
    except _UnresolvedError as error:
        if keep:
            kept = " ".join((OPEN, _INDEX.sub(r".\1", name), CLOSE))
            message = f"{error.message}; the command keeps `{_short(kept)}`"
            return kept, Problem(start, "W305", message, error.hint, error.near)
        return tag, Problem(start, "E313", error.message, error.hint, error.near)


def _secret(start: int, tag: str, roots: Mapping[str, Value], *, keep: bool) -> tuple[str, Problem | None]:
    """Return the replacement of a tag from an inserted value, and its fault.

    Source: PAI runtime, which rendered commands with the secrets if the job has any, and removed other tags.
    """
    path = _path(_name(tag))
    if path is None or path[0] != "secrets":
        if not roots.get("secrets"):
            return tag, None
        message = f"an inserted value contains `{_short(tag)}`, which OpenPAI removed"
        hint = "write the text out: values may refer only to secrets"
        if keep:
            return tag, Problem(start, "W320", f"{message}; the command keeps it", hint)
        return tag, Problem(start, "E320", message, hint)
    found, problem = _replacement(start, tag, roots, keep=keep)
    if problem is None:
        return found, None
    return tag, replace(problem, message=f"in an inserted value, {problem.message}")


def _path(name: str) -> tuple[str, list[str]] | None:
    """Return the root of a name and the steps below it, None if the name is not a reference."""
    root, *steps = _INDEX.sub(r".\1", name).split(".")
    if not all(steps) or not (_ROOT.fullmatch(root) or [root, *steps[:1]] == ["this", "parameters"]):
        return None
    return root.removeprefix("$"), steps


def _resolve(name: str, roots: Mapping[str, Value]) -> str:
    """Return the text of a reference. Raises `_UnresolvedError`, `_ReportedError` and `NotAStringError`."""
    path = _path(name)
    if path is None:
        meant = _path("$" + name)
        near = f"did you mean `${name}`?" if meant and meant[0] in ROOTS else _FORM
        raise _UnresolvedError(f"`{_short(name)}` is not a reference", near)
    root, steps = path
    if root == "this" and "this" not in roots:
        raise _UnresolvedError(f"`{_short(name)}` is defined only in the callbacks of a prerequisite", _FORM)
    if root not in (*ROOTS, "this"):
        near_root = (f"${root}", [f"${each}" for each in ROOTS])
        raise _UnresolvedError(f"`${root}` is not a root of references", near=near_root)
    value, shown = roots.get(root), root if root == "this" else f"${root}"
    if value is None:
        missing = f"the job has no `{root}`" if root in ("parameters", "secrets") else f"the role selects no `{root}`"
        hint = "pass a file of secrets: `--secrets FILE`" if root == "secrets" else ""
        raise _UnresolvedError(f"`{_short(name)}` is undefined: {missing}", hint)
    if root in ("parameters", "secrets") and not isinstance(value, Mapping):
        raise _ReportedError
    for step in steps:
        value = _inside(value, step, name, shown)
        shown += f".{step}"
    text = js_string(value)
    if text is not None and root == "secrets":
        return placeholder(steps)
    if text is None:
        raise _UnresolvedError(
            f"`{_short(name)}` is undefined: its value is null", "give it a value, '' for an empty one"
        )
    return text


def _inside(value: Value, step: str, name: str, shown: str) -> Value:
    """Return the value one step further. Raises `_UnresolvedError` and `_ReportedError`."""
    if isinstance(value, Mapping):
        if step in value:
            return value[step]
        message = f"`{_short(name)}` is undefined: `{shown}` has no `{_short(step)}`"
        raise _UnresolvedError(message, near=(step, value))
    if isinstance(value, list):
        if _POSITION.fullmatch(step) and int(step) < len(value):
            inner: Value = value[int(step)]
            return inner
        count = counted(len(value), "item")
        raise _UnresolvedError(f"`{_short(name)}` is undefined: `{shown}` has {count}, counted from 0")
    if shown == "$data.uri":
        raise _ReportedError
    raise _UnresolvedError(f"`{_short(name)}` is undefined: `{shown}` has no parts")


def _short(text: str) -> str:
    longest = 60
    return " ".join(text.split()) if len(text) <= longest else " ".join(text.split())[: longest - 3] + "..."
