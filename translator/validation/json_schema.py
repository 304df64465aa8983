"""What job files and site profiles may hold, as JSON Schema for editors: pydantic's, with a note beside every key.

An editor checks less than `paislurm check`: not the references between parts of a file. The notes are the docstrings of
fields. Source: JSON Schema 2020-12.
"""

from __future__ import annotations

import ast
import inspect
from datetime import timedelta
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from .partial_model import alternatives, is_model
from .strict_model import key_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Generator(GenerateJsonSchema):
    """Show times in seconds, and leave the defaults of models to their own keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """Give keys no titles: they are called what they are."""
        return False

    def dict_schema(self, schema: Any) -> dict[str, Any]:
        """Refuse keys that do not match the pattern of keys."""
        found = super().dict_schema(schema)
        return {**found, "additionalProperties": False} if "patternProperties" in found else found

    def encode_default(self, dft: Any) -> Any:
        """Return a default as it would be written."""
        if isinstance(dft, timedelta):
            return int(dft.total_seconds())
        return {} if isinstance(dft, BaseModel) else super().encode_default(dft)


def json_schema(model: type[BaseModel], title: str) -> dict[str, Any]:
    """Return the schema of what a model reads."""
    schema = model.model_json_schema(schema_generator=_Generator)
    models = {each.__name__: each for each in _models(model)}
    for name, definition in {model.__name__: schema, **schema.get("$defs", {})}.items():
        _describe(definition, field_notes(models[name]))
    return {"$schema": DIALECT, **schema, "title": title}


def field_notes(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring of each field of a model, by its key; those of models above it are inherited."""
    notes = field_notes(model.__mro__[1]) if model.__mro__[1] is not BaseModel else {}
    (body,) = ast.parse(inspect.getsource(model)).body
    assert isinstance(body, ast.ClassDef)
    for field, note in pairwise(body.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(note, ast.Expr):
            text = inspect.cleandoc(ast.literal_eval(note.value)).replace("\n", " ")
            notes[key_of(model, field.target.id)] = text
    return notes


def _models(model: type[BaseModel]) -> set[type[BaseModel]]:
    """Return a model and all models in its fields."""
    found: set[type[BaseModel]] = set()
    left: list[Any] = [model]
    while left:
        kind = left.pop()
        if is_model(kind) and kind not in found:
            found.add(kind)
            left += [inner for field in kind.model_fields.values() for inner in alternatives(field.annotation)]
        else:
            left += [inner for each in getattr(kind, "__args__", ()) for inner in alternatives(each)]
    return found


def _describe(definition: dict[str, Any], notes: dict[str, str]) -> None:
    """Put a note beside every key, and take away titles, and defaults that say nothing."""
    definition.pop("title", None)
    for key, schema in definition.get("properties", {}).items():
        if isinstance(schema.get("default"), (dict, list, tuple, type(None))):
            schema.pop("default", None)
        if key in notes:
            schema["description"] = notes[key]
