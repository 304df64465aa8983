"""Partial models: the correct part of a faulty mapping, so that later checks need only the model.

A faulty or missing value is None, an empty list, an empty mapping, or a model of such values. List items
keep their positions, and mapping items their keys. A name that does not match its pattern is kept, because other
values may refer to it.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from .strict_model import Validator, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic.fields import FieldInfo

    from ..reading.document import Path

_T = TypeVar("_T")
_Model = TypeVar("_Model", bound=BaseModel)


def partial_model(model: type[_Model], value: Mapping[str, object]) -> _Model:
    """Return the model of a mapping, without its faulty values."""
    keys = {key_of(model, name): name for name in model.model_fields}
    fields = {name: _of_field(model.model_fields[name], key, value) for key, name in keys.items()}
    given = {keys[key] for key in value if key in keys}
    others = {} if model.model_config.get("extra") != "allow" else {k: v for k, v in value.items() if k not in keys}
    return model.model_construct(_fields_set=given, **fields, **others)


def placed(path: Path, items: Sequence[_T | None] | None) -> Iterator[tuple[Path, _T]]:
    """Yield the correct items of the list at a path, each with its own path."""
    return (((*path, position), item) for position, item in enumerate(items or ()) if item is not None)


def alternatives(annotation: Any) -> list[Any]:
    """Return the types of a union, or a single type as a list of one, without `Annotated`."""
    while hasattr(annotation, "__metadata__"):
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        return [inner for each in get_args(annotation) for inner in alternatives(each)]
    return [annotation]


def is_model(kind: object) -> TypeGuard[type[BaseModel]]:
    """Whether a type is a model."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def tags_of(model: type[BaseModel]) -> tuple[Any, ...]:
    """Return the values of `type` that select the model in a union; () without such a key."""
    field = model.model_fields.get("type")
    return get_args(field.annotation) if field else ()


def _of_field(field: FieldInfo, key: str, value: Mapping[str, object]) -> Any:
    if key not in value and not field.is_required():
        return field.get_default(call_default_factory=True)
    hint: Any = field.annotation
    if field.metadata:
        hint = operator.getitem(Annotated, (hint, *field.metadata))
    return _or_empty(hint, value.get(key))


def _or_empty(hint: Any, value: object) -> Any:
    """Return a value of the hinted type, or its correct part."""
    try:
        return _adapter(hint).validate_python(value)
    except ValidationError:
        pass
    marks = [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Validator)]
    if marks:
        return value if any(mark.is_name for mark in marks) and isinstance(value, str) else None
    kinds = [kind for kind in alternatives(hint) if kind is not type(None)]
    models = list(filter(is_model, kinds))
    if models and (type(None) not in alternatives(hint) or isinstance(value, Mapping)):
        found = value if isinstance(value, Mapping) else {}
        tagged = [model for model in models if found.get("type") in tags_of(model)]
        return partial_model((tagged or models[-1:])[0], found)
    if get_origin(kinds[0]) in (list, tuple):
        inner, items = get_args(kinds[0])[0], value if isinstance(value, list) else []
        only_models = any(map(is_model, alternatives(inner)))
        right = (None if only_models and not isinstance(each, Mapping) else _or_empty(inner, each) for each in items)
        return get_origin(kinds[0])(right)
    if get_origin(kinds[0]) is dict:
        of = get_args(kinds[0])[1]
        return {key: _or_empty(of, each) for key, each in value.items()} if isinstance(value, Mapping) else {}
    return None


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint)
