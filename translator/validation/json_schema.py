"""What job files and site profiles may hold, as JSON Schema for editors: made of the models that read them.

An editor checks less than `paislurm check`: not the references between parts of a file.
Source: JSON Schema 2020-12.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema

from ..shipped import shipped_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Generator(GenerateJsonSchema):
    """Leave out what pydantic makes up, and close the mappings whose keys have a pattern."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """Let a key be called what it is."""
        return False

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Refuse keys that do not match the pattern, as the model does."""
        made = super().dict_schema(schema)
        return {**made, "additionalProperties": False} if "patternProperties" in made else made

    def encode_default(self, dft: Any) -> Any:
        """Show times in seconds."""
        return int(dft.total_seconds()) if isinstance(dft, timedelta) else super().encode_default(dft)


def json_schema(model: type[BaseModel], title: str) -> dict[str, Any]:
    """Return the schema of what a model reads, with a note beside every key."""
    schema = model.model_json_schema(by_alias=True, schema_generator=_Generator)
    notes = shipped_table("translator/validation/key-notes.yaml")
    for name, definition in {model.__name__: schema, **schema.get("$defs", {})}.items():
        _describe(definition, notes.get(name.lstrip("_"), {}))
    return {"$schema": DIALECT, **schema, "title": title}


def _describe(definition: dict[str, Any], notes: Mapping[str, str]) -> None:
    """Put a note beside every key, and take away defaults that only pydantic has a use for."""
    definition.pop("title", None)
    for key, schema in definition.get("properties", {}).items():
        if isinstance(schema.get("default"), (dict, list, type(None))):
            schema.pop("default", None)
        if key in notes:
            schema["description"] = notes[key]
