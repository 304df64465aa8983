"""What stands in an annotation beside a type, `Annotated[int, Validator(...)]`: what a model says more of a key.

`schema` of each returns the schema of pydantic's core, of that of the type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Schema = dict[str, Any]


class Validator:
    """Mark a field, `Annotated[int, Validator(...)]`: `check` returns the value or raises `expected(...)`.

    `json` says the same to an editor, as JSON schema. `kind` is what a partial model takes a value for that the
    function refuses.
    """

    def __init__(self, check: Callable[[Any], object], json: Schema, kind: Schema | None = None) -> None:
        self._check = check
        self._json = json
        self._kind = kind

    def schema(self, _: Schema) -> Schema:
        """Return a schema by which the function decides alone, whatever the annotation is."""
        function = {"type": "no-info", "function": self._check}
        made: Schema = {"type": "function-plain", "function": function, "metadata": {"json": self._json}}
        return {**made, "type": "function-before", "schema": self._kind} if self._kind else made


class Before:
    """Mark a field at whose values `check` looks first; it may replace them. `also` is the JSON schema of its own."""

    def __init__(self, check: Callable[[Any], object], also: Schema | None = None) -> None:
        self._check = check
        self._also = also

    def schema(self, inner: Schema) -> Schema:
        """Return the schema of a value that goes through the function, and is what the annotation says then."""
        function = {"type": "no-info", "function": self._check}
        return {"type": "function-before", "function": function, "schema": inner, "metadata": {"also": self._also}}


class _NotEmpty:
    def schema(self, inner: Schema) -> Schema:
        if inner["type"] == "nullable":
            return {**inner, "schema": self.schema(inner["schema"])}
        return {**inner, "min_length": 1}


NOT_EMPTY = _NotEmpty()
"""Mark a field whose list or mapping has something in it, unless it is null."""


class Key:
    """Mark a field whose key is not its name in camelCase, has a note, or has a default that is read like a value."""

    def __init__(self, alias: str = "", *, description: str = "", check_default: bool = False) -> None:
        self.alias = alias
        self.description = description
        self.check_default = check_default

    def schema(self, inner: Schema) -> Schema:
        """Return the schema as it is."""
        return inner
