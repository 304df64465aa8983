"""The JSON Schema of what a command prints with `--json`: made of a table of shapes and of the records themselves.

Source: JSON Schema 2020-12.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from ...shipped import shipped_table
from ..output.documents import SCHEMA_VERSION
from .models import TIME, closed, named, or_null, properties_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ERROR = "error"
SCHEMA = "schema"
"""The command whose document is a schema."""
_PLAIN = ("integer", "number", "boolean")
_VERSION = {"schemaVersion": {"const": SCHEMA_VERSION}}


def commands() -> tuple[str, ...]:
    """Return what there are schemas of: the commands with their words, `site show`, and `error`."""
    return (*_table()["commands"], SCHEMA, ERROR)


def output_schema(what: Sequence[str] = ()) -> dict[str, Any]:
    """Return the schema of what commands print, all of them without a name; each may print an error instead."""
    wanted = what or commands()
    made: dict[str, Any] = {}
    choices = []
    for name in dict.fromkeys((*wanted, ERROR)):
        choices += [_printed(shape, made) for shape in _shapes_of(name)]
        if name == SCHEMA:
            choices.append({"type": "object", "required": ["$schema"], "properties": {"$schema": {"const": DIALECT}}})
    title = f"paislurm {what[0]} --json" if len(what) == 1 else "paislurm --json"
    return {"$schema": DIALECT, "title": title, "anyOf": choices, "$defs": dict(sorted(made.items()))}


def _shapes_of(name: str) -> list[str]:
    """Return the names of the shapes that a command prints."""
    if name in (ERROR, SCHEMA):
        return ["Error"] if name == ERROR else []
    shapes: list[str] = _table()["commands"][name]
    return shapes


def _printed(shape: str, made: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to a shape as a document; what defines it, version of keys included, is put among `made`."""
    name = f"{shape}Document"
    found = _object(shape, made)
    made[name] = {
        **found,
        "properties": _VERSION | found["properties"],
        "required": ["schemaVersion", *found["required"]],
    }
    _describe(made)
    return {"$ref": f"#/$defs/{name}"}


@cache
def _table() -> Mapping[str, Any]:
    table: dict[str, Any] = shipped_table("translator/cli/schemas/documents.yaml")
    return table


@cache
def meanings() -> Mapping[str, str]:
    """Return what each key is."""
    found: dict[str, str] = shipped_table("translator/cli/schemas/keys.yaml")
    return found


def _object(name: str, made: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a shape."""
    rows = dict(_table()["shapes"][name])
    model = rows.pop("(model)", None)
    found = properties_of(named(model), lambda kind: _record(kind, made)) if model else {}
    optional = frozenset(key[1:] for key in rows if key.startswith("-"))
    own = {key.removeprefix("-"): _type(text, made) for key, text in rows.items() if text != "none"}
    dropped = [key for key, text in rows.items() if text == "none"]
    return closed({key: schema for key, schema in (found | own).items() if key not in dropped}, optional)


def _record(kind: type, made: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to the schema of a record: what the table has of it, or its fields."""
    name = kind.__name__
    if name in _table()["shapes"]:
        return _type(name, made)
    if name not in made:
        made[name] = {}
        made[name] = closed(properties_of(kind, lambda inner: _record(inner, made)))
    return {"$ref": f"#/$defs/{name}"}


def _type(text: str, made: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type of the table."""
    if text.endswith("?"):
        return or_null(_type(text[:-1], made))
    if text[0] == "[":
        return {"type": "array", "items": _type(text[1:-1], made)}
    if text[0] == "{":
        return {"type": "object", "additionalProperties": _type(text[1:-1], made)}
    if text == "time":
        return TIME
    if text == "text":
        return {"type": "string"}
    if text in _PLAIN:
        return {"type": text}
    if "|" in text:
        return {"enum": text.split("|")}
    if text in _table()["words"]:
        return {"enum": list(get_args(named(_table()["words"][text])))}
    if text not in made:
        made[text] = {}
        made[text] = _object(text, made)
    return {"$ref": f"#/$defs/{text}"}


def _describe(made: dict[str, Any]) -> None:
    """Put beside each key what it is."""
    for definition in made.values():
        for key, schema in definition.get("properties", {}).items():
            if key in meanings():
                definition["properties"][key] = {"description": meanings()[key], **schema}
