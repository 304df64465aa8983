"""What job files and site profiles may hold, as JSON Schema for editors: made of the models that read them.

An editor checks less than `paislurm check`: not the references between parts of a file.
Source: JSON Schema 2020-12.
"""

from __future__ import annotations

from datetime import timedelta
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema

from ..shipped import shipped_table
from .model import Model, core_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic.json_schema import JsonSchemaValue

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Generator(GenerateJsonSchema):
    """Make the schema of what pydantic's core reads our models by."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """Let a key be called what it is."""
        return False

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        """Say what a model is, and what its fields say of themselves."""
        model: type[Model] = schema["cls"]
        made = self.generate_inner(schema["schema"])
        for field in model.model_fields.values():
            if field.description:
                made["properties"][field.alias]["description"] = field.description
        if model.__doc__:
            made["description"] = cleandoc(model.__doc__)
        return {**made, "additionalProperties": model.extra == "allow"}

    def dict_schema(self, schema: Any) -> JsonSchemaValue:
        """Refuse keys that do not match the pattern, as the model does."""
        made = super().dict_schema(schema)
        return {**made, "additionalProperties": False} if "patternProperties" in made else made

    def function_plain_schema(self, schema: Any) -> JsonSchemaValue:
        """Return what a validator says of itself."""
        return dict(schema["metadata"]["json"])

    def function_before_schema(self, schema: Any) -> JsonSchemaValue:
        """Return what a validator says of itself, or what it adds to the values that it looks at."""
        if "json" in schema["metadata"]:
            return dict(schema["metadata"]["json"])
        return {"anyOf": [schema["metadata"]["also"], self.generate_inner(schema["schema"])]}

    def encode_default(self, dft: Any) -> Any:
        """Show times in seconds, and leave the defaults of models to their own keys."""
        if isinstance(dft, timedelta):
            return int(dft.total_seconds())
        return {} if isinstance(dft, Model) else dft


def json_schema(model: type[Model], title: str) -> dict[str, Any]:
    """Return the schema of what a model reads, with a note beside every key."""
    schema = _Generator().generate(core_schema(model))
    notes = shipped_table("translator/validation/key-notes.yaml")
    for name, definition in {model.__name__: schema, **schema.get("$defs", {})}.items():
        _describe(definition, notes.get(name.lstrip("_"), {}))
    return {"$schema": DIALECT, **schema, "title": title}


def _describe(definition: dict[str, Any], notes: Mapping[str, str]) -> None:
    """Put a note beside every key, and take away defaults that only pydantic has a use for."""
    definition.pop("title", None)
    for key, schema in definition.get("properties", {}).items():
        if isinstance(schema.get("default"), (dict, list, tuple, type(None))):
            schema.pop("default", None)
        if key in notes:
            schema["description"] = notes[key]
