"""Read the page of what is stricter than OpenPAI: its rows, and the job that the example of a row makes.

An example is a piece of a mapping, `cpu: 0`, that stands where its key stands; `...` are the keys of what is beside it.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from paislurm.translator.protocol.v2.extras_schema import PLUGINS
from paislurm.translator.reading.read import read

PAGE = Path(__file__).parents[4] / "docs/reference/stricter-than-openpai.md"
WRITTEN = "How a file is written"
"""The section of texts that cannot be read; its last column is what OpenPAI read."""
_ROW = re.compile(r"^\| ([EW]\d{3}) \| (.+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
_CODE = re.compile(r"`` (.+?) ``|`([^`]+)`")
_MARK = re.compile(r"⟨(?:U\+([0-9A-F]{4})|(\d+) (.)|(newline|tab))⟩")


@dataclass(frozen=True)
class Row:
    """Hold a row: its code, its keys or its section, an example, why, and what to write, "" where words say that."""

    section: str
    code: str
    keys: tuple[str, ...]
    example: str
    why: str
    instead: str


@cache
def rows() -> list[Row]:
    """Return the rows of the page in order."""
    found: list[Row] = []
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        for code, keys, example, why, instead in _ROW.findall(section):
            written = tuple(each.replace("PLUGINS", f"extras.{PLUGINS}") for each in code_of(keys))
            pieces = code_of(instead) if title == WRITTEN or _CODE.fullmatch(instead) else [""]
            found.append(Row(title, code, written, code_of(example)[0], why, pieces[0]))
    return found


def code_of(cell: str) -> list[str]:
    """Return what a cell has in backticks, with characters in the place of their marks: ⟨U+FEFF⟩, ⟨300 a⟩."""
    return [_MARK.sub(_marked, double or single) for double, single in _CODE.findall(cell)]


def _marked(mark: re.Match[str]) -> str:
    number, count, character, name = mark.groups()
    if number:
        return chr(int(number, 16))
    return {"newline": "\n", "tab": "\t"}[name] if name else character * int(count)


def is_listed(code: str, path: str) -> bool:
    """Tell whether a row has a code with a key that is this path, or a pattern of it."""
    return any(row.code == code and any(fnmatch(path, key) for key in row.keys) for row in rows())


def with_example(job: dict[str, Any], key: str, example: str) -> dict[str, Any]:
    """Return a copy of a job with the example of a row at a key."""
    root = copy.deepcopy(job)
    steps = key.replace(f".{PLUGINS}", ".\0").split(".")
    path = _path_in(root, steps)
    given: Any = read("{" + example + "}", file="example").root
    around = [_at(root, path[:length]) for length in range(len(path), -1, -1)]
    whole = steps[-1] == "NAME" and len(_names(path)) == len(steps)
    nearest = around[0] if isinstance(around[0], dict) and not whole else around[1]
    holder = next((each for each in around if isinstance(each, dict) and next(iter(given)) in each), nearest)
    beside = next((each for each in holder.values() if isinstance(each, dict)), {})
    for name, value in given.items():
        copied = isinstance(value, dict) and "..." in value
        holder[name] = {**copy.deepcopy(beside), **_without_dots(value)} if copied else value
    return root


def _without_dots(value: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name != "..."}


def _path_in(value: Any, steps: list[str]) -> list[str | int]:
    """Return the path of a key in a job, as far as it is there, through the names and items that have most of it."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, list):
        inner, rest = list(enumerate(value)), steps
    elif isinstance(value, dict) and steps:
        name, rest = steps[0].replace("\0", PLUGINS), steps[1:]
        inner = [(key, each) for key, each in value.items() if name in ("NAME", key)]
    return max(([step, *_path_in(each, rest)] for step, each in inner), key=lambda path: len(_names(path)), default=[])


def _names(path: list[str | int]) -> list[str | int]:
    return [step for step in path if isinstance(step, str)]


def _at(value: Any, path: list[str | int]) -> Any:
    for step in path:
        value = value[step]
    return value
