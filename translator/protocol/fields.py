"""The kinds of values that job files and site profiles have; each refuses what it is not in the user's words.

Nothing is turned into something else: text is no number and a number is no text. A whole number may be written 1.0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainValidator, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 2**31 - 1
"""What JSON schema validators, bash and Slurm all can count to."""


class Closed(BaseModel):
    """A mapping with the keys of its fields and no others; keys are written in camelCase."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)


class Open(BaseModel):
    """A mapping that may have any keys beside those of its fields."""

    model_config = ConfigDict(extra="allow", frozen=True, alias_generator=to_camel)


def expected(what: str, hint: str = "", code: str = "") -> PydanticCustomError:
    """Return the error for a value that is not `what`; the fault made of it says what was found instead."""
    return PydanticCustomError("expected", "expected {what}", {"what": what, "hint": hint, "code": code})


def whole(least: int | None = None, most: int = _MOST) -> Any:
    """Return the type of whole numbers from `least` to `most`."""
    what = "a whole number"
    if least is not None:
        what += f" of at least {least}" if most == _MOST else f" from {least} to {most:,}"
    lowest = -_MOST if least is None else least

    def check(value: object) -> int:
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(number, bool) or not isinstance(number, int) or not lowest <= number <= most:
            raise expected(what)
        return int(number)

    return Annotated[int, PlainValidator(check), WithJsonSchema({"type": "integer", "minimum": lowest, "maximum": most})]


def words(what: str, pattern: str, *, hint: str = "", code: str = "") -> Any:
    """Return the type of texts that match a pattern as a whole; `what` names them in messages."""
    expression = re.compile(pattern, re.ASCII)

    def check(value: object) -> str:
        if not isinstance(value, str) or not expression.fullmatch(value):
            raise expected(what, hint, code)
        return value

    return Annotated[str, PlainValidator(check), WithJsonSchema({"type": "string", "pattern": f"^(?:{pattern})$"})]


def one_of(*choices: str | int) -> Any:
    """Return the type of a value that is one of a few."""
    shown = [str(choice) if isinstance(choice, int) else f"`{choice}`" for choice in choices]
    what = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"

    def check(value: object) -> str | int:
        for choice in choices:
            if value == choice and not isinstance(value, bool):
                return choice
        raise expected(what)

    return Annotated[Any, PlainValidator(check), WithJsonSchema({"enum": list(choices)})]


def checked(python_type: object, check: Callable[[object], object], schema: dict[str, Any]) -> Any:
    """Return the type of values that `check` lets through; it raises `expected(...)` for others."""
    return Annotated[python_type, PlainValidator(check), WithJsonSchema(schema)]  # type: ignore[valid-type]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise expected("text")
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise expected("true or false", "write `true` or `false`, without quotes")
    return value


def _text_or_number(value: object) -> str | int | float:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise expected("text or a number")
    return value


Text = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string"})]
Boolean = Annotated[bool, PlainValidator(_boolean), WithJsonSchema({"type": "boolean"})]
TextOrNumber = Annotated[
    "str | int | float", PlainValidator(_text_or_number), WithJsonSchema({"type": ["string", "number"]})
]
