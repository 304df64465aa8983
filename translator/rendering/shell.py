"""Text for bash: the only module that quotes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ..slurm_options import is_plain

if TYPE_CHECKING:
    from collections.abc import Iterable


class ShellWord(str):
    """Text that is safe in a script: quoted, or bash of this project. Only this module makes it."""

    __slots__ = ()


def quote(value: str) -> ShellWord:
    r"""Return a word that bash reads back as `value`. NUL cannot be in a bash word.

    >>> quote("it's $HOME")
    "'it'\\''s $HOME'"
    """
    if "\0" in value:
        raise ValueError("a NUL character cannot be passed to a program")
    return ShellWord("'" + value.replace("'", "'\\''") + "'")


_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+", re.ASCII)


def word(value: str) -> ShellWord:
    """Return a word that bash reads back as `value`, quoted only if necessary.

    >>> word("--gres=gpu:2"), word("a b")
    ('--gres=gpu:2', "'a b'")
    """
    return ShellWord(value) if _PLAIN.fullmatch(value) else quote(value)


@lru_cache(maxsize=1000)
def option(name: str, value: str | None) -> ShellWord:
    """Return an option of a command of ours: `--name=value`, of which the value may be quoted."""
    return ShellWord(f"--{name}" if value is None else f"--{name}={word(value) if value else quote(value)}")


def array(values: Iterable[str]) -> ShellWord:
    """Return the words of an array."""
    return ShellWord(f"({' '.join(word(value) if value else quote(value) for value in values)})")


def export(name: str, value: str, *more: str) -> ShellWord:
    """Return a line that exports a variable, and `more` of the same value; the names must be shell identifiers."""
    for each in (name, *more):
        if not is_identifier(each):
            raise ValueError(f"{each!r} cannot be the name of a shell variable")
    return ShellWord(f"export {' '.join(f'{each}={quote(value)}' for each in (name, *more))}")


def is_identifier(name: str) -> bool:
    """Return whether a shell can refer to a variable of this name."""
    return name.isascii() and name.isidentifier()


def export_around(name: str, parts: Iterable[str], variable: str) -> ShellWord:
    r"""Return a line that exports a variable whose value has that of another one between its parts.

    >>> print(export_around("HOME_DIR", ["/home/", ""], "USER"))
    export HOME_DIR='/home/'"$USER"''
    """
    if not (is_identifier(name) and is_identifier(variable)):
        raise ValueError(f"{name!r} or {variable!r} cannot be the name of a shell variable")
    return ShellWord(f"export {name}=" + f'"${variable}"'.join(quote(part) for part in parts))


def comment(text: str) -> ShellWord:
    """Return text for one comment line, with each control character and Unicode line break replaced by a blank."""
    return ShellWord(text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text))


def number(value: int) -> ShellWord:
    """Return a whole number in decimal digits."""
    return ShellWord(f"{value:d}")


def sbatch_line(name: str, value: str | None) -> ShellWord:
    """Return the option after `#SBATCH`: `--name=value`. sbatch reads the line, not bash.

    What means something to sbatch there is refused rather than escaped.
    """
    if value is None:
        return ShellWord(f"--{name}")
    if not is_plain(value):
        raise ValueError(f"--{name}: {value!r} is not valid in an #SBATCH line")
    return ShellWord(f"--{name}={value}")


def here_document(text: str, label: str) -> tuple[ShellWord, ShellWord]:
    """Return a delimiter that occurs as no line of `text`, and the text: a quoted here-document has no effect."""
    if "\0" in text:
        raise ValueError("a NUL character cannot stand in a script")
    lines = set(text.split("\n"))
    delimiter, number_ = label, 1
    while delimiter in lines:
        number_ += 1
        delimiter = f"{label}_{number_}"
    return ShellWord(delimiter), ShellWord(text)


def our_own(lines: Iterable[str]) -> ShellWord:
    """Return bash of this project unquoted: the static runtime."""
    return ShellWord("\n".join(lines))
