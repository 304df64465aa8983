"""Read a JSON object into a frozen dataclass by the types of its fields; nothing of another kind gets through."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from ..lazy import dataclass
from .safe_read import CorruptDataError, require_int, require_objects, require_str, require_strs

_Shape = TypeVar("_Shape")
_Readers = tuple[tuple[str, "Reader", bool], ...]
Reader = Callable[[Mapping[str, object], str], Any]


@dataclass(frozen=True)
class Constraint:
    """Narrow a type, as its annotation: the values that it allows, and what they are called."""

    allows: Callable[[Any], bool]
    called: str


def decode(shape: type[_Shape], raw: Mapping[str, object]) -> _Shape:
    """Return the dataclass that an object is; DamagedError if it is none. Fields with a default may be left out."""
    if shape not in _KNOWN:
        _KNOWN[shape] = _readers(shape)
    return shape(**{name: read(raw, name) for name, read, may_lack in _KNOWN[shape] if not may_lack or name in raw})


_KNOWN: dict[type, _Readers] = {}


def _readers(shape: type) -> _Readers:
    hints = get_type_hints(shape, include_extras=True)
    return tuple(
        (each.name, _reader(hints[each.name]), each.default is not MISSING or each.default_factory is not MISSING)
        for each in fields(shape)
    )


def _reader(hint: Any) -> Reader:
    """Return what reads a value of a type: plain ones, choices, None, and tuples and mappings of these."""
    plain: dict[Any, Reader] = {int: require_int, str: require_str, bool: _bool, tuple[str, ...]: require_strs}
    if hint in plain:
        return plain[hint]
    if isinstance(hint, NewType):
        return _reader(hint.__supertype__)
    kind, parts = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return _within(_reader(parts[0]), parts[1])
    if kind is Literal:
        return lambda raw, key: _choice(raw, key, parts)
    if kind in (Union, UnionType) and len(parts) == 2 and parts[1] is type(None):
        read = _reader(parts[0])
        return lambda raw, key: None if raw.get(key) is None else read(raw, key)
    if kind is tuple and is_record_type(parts[0]):
        return lambda raw, key: tuple(decode(parts[0], each) for each in require_objects(raw, key))
    if kind is Mapping and parts == (str, str):
        return _string_map
    if is_record_type(hint):
        return lambda raw, key: decode(hint, _object(raw, key))
    raise TypeError(f"no reader for {hint}")


def _within(read: Reader, only: Constraint) -> Reader:
    def within(raw: Mapping[str, object], key: str) -> Any:
        value = read(raw, key)
        if not only.allows(value):
            raise CorruptDataError(f"`{key}` is not {only.called}")
        return value

    return within


def is_record_type(hint: Any) -> bool:
    """Tell whether a type is one of ours."""
    return is_dataclass(hint)


def _object(raw: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = raw.get(key)
    if not isinstance(value, dict):
        raise CorruptDataError(f"`{key}` is not an object")
    return value


def _string_map(raw: Mapping[str, object], key: str) -> Mapping[str, str]:
    found = _object(raw, key)
    return {word: require_str(found, word) for word in found}


def _choice(raw: Mapping[str, object], key: str, choices: tuple[str, ...]) -> str:
    word = require_str(raw, key)
    if word not in choices:
        raise CorruptDataError(f"`{key}` is none of {', '.join(choices)}")
    return word


def _bool(raw: Mapping[str, object], key: str) -> bool:
    value = raw.get(key)
    if not isinstance(value, bool):
        raise CorruptDataError(f"`{key}` is not true or false")
    return value
