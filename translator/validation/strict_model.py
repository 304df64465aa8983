"""The types of values in job files and site profiles; each reports wrong values in the user's terms.

Values are not converted: text is not a number and a number is not text. A whole number may be
written 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import MinLen
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from ..reading.document import Bytes

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_INT = 2**31 - 1
"""The largest number that JSON schema validators, bash and Slurm all support."""
LAST_PORT = 65535
JsonSchema = dict[str, Any]
NOT_EMPTY = MinLen(1)
"""Mark a list or a mapping that must not be empty."""


def to_camel(name: str) -> str:
    """Return the key of a field. Pydantic's own function uses regular expressions, and takes ten times as long."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


class StrictModel(BaseModel):
    """A mapping with exactly the keys of its fields, written in camelCase."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, defer_build=True)

    @classmethod
    def of(cls, **fields: Any) -> Self:
        """Return a model of fields by their names, unchecked, for values that the program makes."""
        if unknown := fields.keys() - cls.model_fields.keys():
            raise TypeError(f"{cls.__name__} has no {', '.join(sorted(unknown))}")
        return cls.model_construct(**fields)

    @classmethod
    def key(cls, name: str) -> str:
        """Return the key of a field."""
        return key_of(cls, name)


def key_of(model: type[BaseModel], name: str) -> str:
    """Return the key of a field, also if pydantic has not yet built the model and its aliases.

    Source: pydantic, defer_build; observed with 2.10.
    """
    made = to_camel(name) if model.model_config.get("alias_generator") else name
    return model.model_fields[name].alias or made


class OpenModel(StrictModel):
    """A mapping with the keys of its fields and any others."""

    model_config = ConfigDict(extra="allow")


class Validator:
    """Mark a field, `Annotated[int, Validator(...)]`: only `check` decides; it returns the value or raises `expected`.

    `json` is the equivalent JSON Schema. A partial model keeps a faulty value if `is_name` is set.
    """

    def __init__(self, check: Callable[[Any], object], json: JsonSchema, *, is_name: bool = False) -> None:
        self._check = check
        self._json = json
        self.is_name = is_name

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Validate only with the function, whatever the annotated type."""
        del source, handler
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> JsonSchema:
        """Return the JSON Schema of the field."""
        del schema, handler
        return dict(self._json)


def expected(
    what: str, hint: str = "", number: int = 3, *, bare: bool = False, key: bool = False
) -> PydanticCustomError:
    """Return the error for a value that is not `what`; the diagnostic adds the value found.

    `number` is the last digit of the code: 3 for a wrong value, `E203` in a job file and `E453` in a site
    profile. A `bare` message does not name the value found; with `key` the location is the key.
    """
    context = {"what": what, "hint": hint, "number": number, "bare": bare, "key": key}
    return PydanticCustomError("expected", "expected {what}", context)


def integer(value: object) -> int | None:
    """Return a value as a whole number, or None. Source: JSON schema, where 1.0 is an integer."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def positive(number: int | None, otherwise: str) -> int:
    """Return a whole number of at least 1; `otherwise` names the other permitted values."""
    if number is None or number < 1:
        raise expected(f"{otherwise} or a whole number of at least 1")
    if number > MAX_INT:
        raise expected(f"{otherwise} or a whole number from 1 to {MAX_INT}")
    return number


_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_MAX_DIGITS = 40
NUMBER_OR_TEXT: JsonSchema = {"type": ["integer", "string"], "pattern": rf"^\s*(?:{_NUMBER.pattern})\s*$"}


def number_of(value: object) -> object:
    """Return the number in a text, any other value unchanged. Source: Joi, which converts such text."""
    text = value.strip() if isinstance(value, str) else ""
    if len(text) > _MAX_DIGITS or not _NUMBER.fullmatch(text):
        return value
    return float(text) if re.search("[.eE]", text) else int(text)


def int_range(least: int | None = None, most: int = MAX_INT, *, texts: bool = False) -> Validator:
    """Accept whole numbers from `least` to `most`; with `texts`, also numbers in quotes."""
    what = "a whole number"
    if least is not None:
        what += f" of at least {least}" if most == MAX_INT else f" from {least} to {most}"
    lowest = -MAX_INT if least is None else least

    def check(value: object) -> int:
        number = integer(number_of(value) if texts else value)
        if number is not None and lowest <= number <= most:
            return number
        wanted = what if number is None or number < lowest else f"a whole number from {lowest} to {most}"
        if number is not None and isinstance(value, str):  # the quotes are permitted here
            raise expected(f"{wanted}, found {value.strip()}", bare=True)
        raise expected(wanted)

    schema: JsonSchema = {"type": "integer", "minimum": lowest, "maximum": most}
    return Validator(check, {**schema, **NUMBER_OR_TEXT} if texts else schema)


def pattern(what: str, pattern: str) -> Validator:
    """Accept texts that match the whole pattern; `what` names them in messages."""

    def check(value: object) -> str:
        if isinstance(value, str) and not isinstance(value, Bytes) and re.fullmatch(pattern, value, re.ASCII):
            return value
        raise expected(what)

    return Validator(check, {"type": "string", "pattern": f"^(?:{pattern})$"})


def name_pattern(what: str, pattern: str) -> Validator:
    """Accept names that match a pattern (E204); the hint is a similar name that matches."""

    def check(value: object) -> str:
        if isinstance(value, str) and not isinstance(value, Bytes) and re.fullmatch(pattern, value, re.ASCII):
            return value
        near = re.sub(r"\W", "_", value, flags=re.ASCII) if isinstance(value, str) else ""
        # OpenPAI's controller refuses a role of `_` alone.
        valid = near.strip("_") and re.fullmatch(pattern, near, re.ASCII)
        raise expected(what, number=4, hint=f"call it `{near}`" if valid else "")

    return Validator(check, {"type": "string", "pattern": f"^(?:{pattern})$"}, is_name=True)


def choice(*choices: str | int) -> Validator:
    """Accept one of the given values."""
    shown = [str(choice) if isinstance(choice, int) else f"`{choice}`" for choice in choices]
    what = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"

    def check(value: object) -> str | int:
        for choice in choices:
            if value == choice and not isinstance(value, bool):
                return choice
        raise expected(what)

    return Validator(check, {"enum": list(choices)})


def _text(value: object) -> str:
    if not isinstance(value, str) or isinstance(value, Bytes):
        raise expected("text")
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise expected("true or false")
    return value


def _text_or_number(value: object) -> str | int | float:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise expected("text or a number")
    return value


Text = Annotated[str, Validator(_text, {"type": "string"})]
TextIfGiven = Annotated[str | None, Validator(_text, {"type": "string"})]
"""Text, or None for a missing key; null is not text."""
Boolean = Annotated[bool, Validator(_boolean, {"type": "boolean"})]
TextOrNumber = Annotated[str | int | float, Validator(_text_or_number, {"type": ["string", "number"]})]
