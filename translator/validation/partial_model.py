"""Make a model of all that is right in a mapping with faults, so that its checks look at the model alone.

What is faulty or missing is empty there: None for a single value, for what may be null and for an item of a list; else
a list or a mapping without anything in it, or a model whose values are all empty. So items of lists keep their
positions, and those of mappings their keys. A name that does not match its pattern stays: others may refer to it.
Source: pydantic's core schemas, and `on_error` of their kind `default`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import SchemaValidator

from .model import Model, core_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..reading.document import Path

_T = TypeVar("_T")
_Model = TypeVar("_Model", bound=Model)
_EMPTY: dict[str, Callable[[], Any]] = {
    "list": list,
    **dict.fromkeys(("dict", "model", "definition-ref", "tagged-union"), dict),
}
"""What the empty value of a kind is made of. Models alone are defined in one place and used in several."""
_OF_VALUES = {"model-field": "schema", "dict": "values_schema"}
"""Where a schema has that of the values in it."""
_validators: dict[type[Model], SchemaValidator] = {}
_UNUSED = ("metadata", "serialization", "min_length", "keys_schema")


def partial_model(model: type[_Model], value: Mapping[str, object]) -> _Model:
    """Return the model of a mapping, whatever is wrong in it."""
    if model not in _validators:
        _validators[model] = SchemaValidator(_lenient(core_schema(model)))
    made: _Model = _validators[model].validate_python(value)
    return made


def placed(path: Path, items: Sequence[_T | None] | None) -> Iterator[tuple[Path, _T]]:
    """Yield the items of the list at a path, each with its own path; what is faulty is left out."""
    return (((*path, position), item) for position, item in enumerate(items or ()) if item is not None)


def _lenient(schema: Any) -> Any:
    """Return the schema that takes the empty value for what is faulty in a value."""
    if isinstance(schema, list):
        return [_lenient(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    kind = schema.get("type")
    if not isinstance(kind, str):  # the fields of a model by name, or the choices of a union
        return {key: _lenient(each) for key, each in schema.items()}
    if kind == "function-before":  # which checks more than the kind of a value
        return _lenient(schema["schema"])
    inner = _OF_VALUES.get(kind)
    made = {key: (_or_empty if key == inner else _lenient)(each) for key, each in schema.items() if key not in _UNUSED}
    if kind == "list":
        made["items_schema"] = _or_none(made["items_schema"])
    elif kind == "tagged-union":
        made["discriminator"] = _tag_reader(schema["discriminator"], tuple(schema["choices"]))
    elif kind == "model":
        extra = "allow" if schema["cls"].extra == "allow" else "ignore"
        fields = {**made["schema"], "extra_behavior": extra}
        construct = partial(_construct, schema["cls"])
        function = {"type": "no-info", "function": construct}
        return {"type": "function-after", "function": function, "schema": fields, "ref": schema["ref"]}
    return made


def _or_empty(schema: Any) -> Any:
    """Return the lenient schema that has the empty value for what it refuses; what is left out keeps its default."""
    if schema["type"] == "default":
        return {**schema, "schema": _or_empty(schema["schema"])}
    lenient, empty = _lenient(schema), _EMPTY.get(schema["type"])
    if empty is None:
        return _or_none(lenient)
    made = {"type": "default", "schema": lenient, "default_factory": empty, "on_error": "default"}
    return {**made, "validate_default": True}


def _or_none(schema: Any) -> Any:
    return {"type": "default", "schema": schema, "default": None, "on_error": "default"}


def _tag_reader(key: str, tags: tuple[str, ...]) -> Callable[[object], str | None]:
    """Return what reads the tag of a mapping: the last of the tags where it has none of them."""

    def read(value: object) -> str | None:
        if not isinstance(value, Mapping):
            return None
        return next((tag for tag in tags if tag == value.get(key)), tags[-1])

    return read


def _construct(model: type[Model], parts: tuple[dict[str, Any], dict[str, Any] | None, set[str]]) -> Model:
    """Return a model of its fields by name, its other keys, and the names of those fields that were given."""
    values, others, given = parts
    made = model()
    vars(made).update(values)
    made.model_fields_set.update(given)
    if made.model_extra is not None:
        made.model_extra.update(others or {})
    return made
