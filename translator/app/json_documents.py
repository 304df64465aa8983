"""Results as JSON documents, and their JSON Schema, both from the fields of Structs.

Source: JSON Schema 2020-12.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from textwrap import dedent
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec
from msgspec import UNSET, Struct, to_builtins
from msgspec.json import schema_components

from ..errors import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class CommandError(Struct, frozen=True, kw_only=True):
    """The document of every command on an error."""

    error: str
    """The error message."""
    exit_status: int
    """The exit status of paislurm."""
    diagnostics: tuple[Diagnostic, ...]
    """The diagnostics, if any."""


SCHEMA_VERSION = 4
"""The version of the keys of documents. It rises when a key is removed or changes its meaning."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"
VERSION_NOTE = "The version of the keys of this document."


def document_text(result: Struct, *, indent: int | None = 2) -> str:
    """Return a result as JSON, on one line without `indent`. Times are ISO 8601; durations are seconds."""
    return json.dumps({"schemaVersion": SCHEMA_VERSION, **plain(result)}, indent=indent)


def plain(value: Any) -> Any:
    """Return a value for JSON. A Struct with a property `printed` is replaced by that record."""
    if isinstance(value, Struct):
        value = getattr(value, "printed", value)
        if value.__struct_config__.omit_defaults:
            return to_builtins(value)
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        fields = ((key, getattr(value, name)) for name, key in names)
        return {key: plain(field) for key, field in fields if field is not UNSET}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return int(value.total_seconds()) if isinstance(value, timedelta) else value


def definitions(documents: Sequence[type[Struct]]) -> dict[str, Any]:
    """Return the schemas of all records and enums in documents, by name."""
    records = {record.__name__: _printed_as(record) for record in structs(documents)}
    _, components = schema_components([*documents, *records.values()])
    components |= {name: components[record.__name__] for name, record in records.items()}
    return {
        name: _closed(records[name], component) if name in records else component
        for name, component in components.items()
    }


def json_schema(documents: Sequence[type[Struct]], title: str) -> dict[str, Any]:
    """Return a schema that accepts any of these documents, with a description of each key."""
    defs = definitions(documents)
    choices = []
    for document in documents:
        body = defs[document.__name__]
        version = {"description": VERSION_NOTE, "const": SCHEMA_VERSION}
        defs[f"{document.__name__}Document"] = {
            **body,
            "properties": {"schemaVersion": version, **body["properties"]},
            "required": ["schemaVersion", *body["required"]],
        }
        choices.append({"$ref": f"#/$defs/{document.__name__}Document"})
    used = _used(defs, [document.__name__ + "Document" for document in documents])
    return {"$schema": DIALECT, "title": title, "anyOf": choices, "$defs": {name: defs[name] for name in sorted(used)}}


def structs(documents: Iterable[type[Struct]]) -> list[type[Struct]]:
    """Return all Structs in documents, each once, after the document that contains them."""
    found: dict[type[Struct], None] = {}
    stack: list[Any] = list(reversed(msgspec.inspect.multi_type_info(documents)))
    while stack:
        match stack.pop():
            case msgspec.inspect.StructType(cls=record) if record not in found:
                found[record] = None
                fields = msgspec.inspect.type_info(_printed_as(record)).fields  # type: ignore[attr-defined]
                stack += [each.type for each in reversed(fields)]
            case msgspec.inspect.UnionType(types=types) | msgspec.inspect.TupleType(item_types=types):
                stack += types
            case msgspec.inspect.CollectionType(item_type=inner) | msgspec.inspect.DictType(value_type=inner):
                stack.append(inner)
            case _:
                pass
    return list(found)


def _printed_as(record: type[Struct]) -> type[Struct]:
    """Return the type of `printed`, or the record itself."""
    printed = getattr(record, "printed", None)
    found: type[Struct] = get_type_hints(printed.fget)["return"] if printed else record
    return found


def field_notes(record: type[Struct]) -> dict[str, str]:
    """Return the docstrings of the fields of a Struct and its bases, by key; None becomes null."""
    notes: dict[str, str] = {}
    for base in reversed(record.__mro__):
        if issubclass(base, Struct) and base is not Struct:
            [definition] = ast.parse(dedent(inspect.getsource(base))).body
            assert isinstance(definition, ast.ClassDef)
            for pair in pairwise(definition.body):
                match pair:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(note))):
                        notes[name] = re.sub(r"\bNone\b", "null", " ".join(note.split()).partition(" Source:")[0])
                    case _:
                        pass
    names = zip(record.__struct_fields__, record.__struct_encode_fields__, strict=True)
    return {key: notes[name] for name, key in names if name in notes}


def _closed(record: type[Struct], component: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a printed record, with descriptions and required keys, and without additional keys."""
    notes = field_notes(record)
    may_be_missing = {field.encode_name for field in msgspec.structs.fields(record) if field.default is UNSET}
    if record.__struct_config__.omit_defaults:
        may_be_missing |= {field.encode_name for field in msgspec.structs.fields(record) if not field.required}
    properties = {
        key: {**({"description": notes[key]} if key in notes else {}), **_printed(schema)}
        for key, schema in component["properties"].items()
    }
    required = [key for key in properties if key not in may_be_missing]
    return {**component, "properties": properties, "required": required, "additionalProperties": False}


def _printed(schema: Any) -> Any:
    """Return the schema of a printed value: a duration is a number of seconds, without a default."""
    if isinstance(schema, list):
        return [_printed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "duration":
        return {"type": "integer"}
    return {key: _printed(each) for key, each in schema.items() if key != "default"}


def _used(defs: dict[str, Any], names: Sequence[str]) -> set[str]:
    """Return these names and the names of all definitions that they reference."""
    found: set[str] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += [other for other in defs if f'"#/$defs/{other}"' in json.dumps(defs[name])]
    return found
