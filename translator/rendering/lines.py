"""Lines of the head of a script, each with what it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .shell import ShellWord, array, comment, number, our_own, quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..planning.settings.setting import Setting

WIDTH = 100
"""Characters of a line of the script, where it is ours to break."""
_COLUMN = 40
"""Where the meanings of settings begin."""


class Line(NamedTuple):
    """Say what a line of a script is made of; one `text` may be several lines, of a value that has line breaks.

    `fields` are parts of the job file by their names in `provenance.yaml`, of the roles at these positions where they
    are a role's. `entry` names a row of that file that has the fields, and a rule, instead: its table and its key.
    `job_lines` are lines of the job file whose own text it is.
    """

    text: ShellWord
    fields: tuple[str, ...] = ()
    rule: str = ""
    entry: tuple[str, str] | None = None
    roles: tuple[int, ...] = ()
    job_lines: tuple[int, ...] = ()
    is_text: bool = False
    """Whether it is the job file's own text, in which parameters have been put in."""


def setting_lines(settings: Iterable[Setting], *, role: int | None = None) -> list[Line]:
    """Return assignments, each with its meaning beside it, or above it where it is long."""
    return [line for setting in settings for line in _setting(setting, role)]


def _setting(setting: Setting, role: int | None) -> list[Line]:
    place = "" if role is None else f"[{role}]"
    text = f"PSL_{setting.name}{place}={_value(setting.value)}"
    meaning = comment(setting.meaning)
    roles = () if role is None else (role,)

    def line(words: str) -> Line:
        return Line(text=our_own([words]), fields=setting.fields, rule=setting.rule, roles=roles)

    beside = f"{text:<{_COLUMN}} # {meaning}"
    if len(beside) <= WIDTH and "\n" not in text:
        return [line(beside)]
    return [Line(text=our_own([f"# {meaning[0].upper()}{meaning[1:]}."])), line(text)]


def _value(value: str | int | tuple[str, ...]) -> ShellWord:
    if isinstance(value, tuple):
        return array(value)
    if isinstance(value, int):
        return number(value)
    return quote(value)
