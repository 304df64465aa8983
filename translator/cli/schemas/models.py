"""Make JSON Schemas of records, as `asdict` and the plan turn them into plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib import import_module
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from ...monitor.job_status import State
from ...planning.layout.layout import Layout
from ...planning.layout.packing import Placement
from ...planning.plan_text import KEYS
from ..output.documents import NULL_IF_EMPTY

if TYPE_CHECKING:
    from typing import TypeAlias

    Refer: TypeAlias = Callable[[type], dict[str, Any]]

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", timedelta: "integer", type(None): "null"}
TIME = {"type": "string", "format": "date-time"}
FOR_TYPES_ALONE = {"Layout": Layout, "Mapping": Mapping, "Placement": Placement, "State": State}
"""What modules import for annotations alone, and fields have as their types."""


def named(where: str) -> Any:
    """Return a type by `module:name`, the module below `paislurm.translator`."""
    module, _, name = where.partition(":")
    return getattr(import_module(f"paislurm.translator.{module}"), name)


def properties_of(model: type, refer: Refer) -> dict[str, Any]:
    """Return a schema for each field, by the name that it has in JSON; `refer` makes that of a record within."""
    kinds = get_type_hints(model, localns=FOR_TYPES_ALONE)
    found = {}
    assert issubclass(model, Struct)
    for name in model.__struct_fields__:
        key = KEYS.get((model.__name__, name), name)
        found[key] = _of_field(key, kinds[name], refer)
    return found


def closed(properties: Mapping[str, Any], optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the schema of an object that has these keys and no others."""
    required = [key for key in properties if key not in optional]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that accepts null as well."""
    if "enum" in schema:
        return {**schema, "enum": [*(each for each in schema["enum"] if each != ""), None]}
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [dict(schema), {"type": "null"}]}


def _of_field(key: str, kind: Any, refer: Refer) -> dict[str, Any]:
    if key.endswith("_at"):
        return or_null(TIME) if type(None) in get_args(kind) else TIME
    schema = _of(kind, refer)
    return or_null(schema) if key in NULL_IF_EMPTY else schema


def _of(kind: Any, refer: Refer) -> dict[str, Any]:
    """Return the schema of a type."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return {"type": PLAIN[kind]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, UnionType):
        (wanted,) = (each for each in inner if each is not type(None))
        return or_null(_of(wanted, refer))
    if origin is tuple:
        return _of_tuple(inner, refer)
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _of(inner[1], refer)}
    assert isinstance(kind, type)
    return refer(kind)


def _of_tuple(inner: tuple[Any, ...], refer: Refer) -> dict[str, Any]:
    """Return the schema of a list of any length, or of one that has so many values."""
    if inner[-1] is Ellipsis:
        return {"type": "array", "items": _of(inner[0], refer)}
    values = [_of(each, refer) for each in inner]
    return {"type": "array", "prefixItems": values, "minItems": len(values), "items": False}
