"""Every setting that is in force, with the place that it comes from: a line of the profile, or the default."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..reading.document import SourceInt, path_text
from ..validation.strict_model import StrictModel, key_of
from .layers import LOCKED, covers
from .profile import Address, Site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..reading.document import Document, Path, Value


class Setting(Struct, frozen=True, kw_only=True):
    """Hold a setting, `retry.maxRestarts`, as it would be written; `line` is that of `file`, 0 for a default.

    `locked` says whether it, or the table around it, is locked.
    """

    key: str
    value: str
    file: str = ""
    line: int = 0
    locked: bool = False


def settings(document: Document | None) -> list[Setting]:
    """Return what the file has, in its order, and then the defaults of keys that it leaves out."""
    given = [] if document is None else [_given(document, path) for path in _paths(document.root, ())]
    root = document.root if document is not None else {}
    locks = [] if document is None else [text for _, text in document.texts((LOCKED,))]
    return [
        replace(each, locked=any(covers(lock, each.key.split(".")) for lock in locks))
        for each in (*given, *_defaults(Site.of(), root, ()))
    ]


def _given(document: Document, path: Path) -> Setting:
    place = document.location(path, key=isinstance(path[-1], str))
    return Setting(key=_key(path), value=_text(document.at(path)), file=place.file, line=place.line)


def _paths(value: Value, path: Path) -> Iterator[Path]:
    """Yield the paths of all that has no keys of its own, and of the items of lists that have."""
    if isinstance(value, Mapping) and (value or not path):
        for key, inner in value.items():
            yield from _paths(inner, (*path, key))
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        yield from ((*path, position) for position in range(len(value)))
    else:
        yield path


def _defaults(model: StrictModel, given: Value, path: Path) -> Iterator[Setting]:
    """Yield the values of keys that are not given; a value that says nothing is none."""
    if not isinstance(given, Mapping):
        return
    for name in type(model).model_fields:
        key = key_of(type(model), name)
        value = getattr(model, name, None)
        if isinstance(value, StrictModel):
            yield from _defaults(value, given.get(key, {}), (*path, key))
        elif key not in given and value not in (None, "", (), {}):
            yield Setting(key=_key((*path, key)), value=_default(value))


def _default(value: object) -> str:
    """Return a default as it would be written."""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}"
    return _text(value.method if isinstance(value, Address) else value)


def _key(path: Path) -> str:
    return path_text(path).removeprefix("$.")


def _text(value: object) -> str:
    """Return a value on one line, in the form of YAML."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_text(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return value.text if isinstance(value, SourceInt) else str(value)
