"""Read a JSON object into a record by the types of its fields; nothing of another kind gets through."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec import ValidationError, convert

from .safe_read import CorruptDataError

if TYPE_CHECKING:
    from collections.abc import Mapping

Shape = TypeVar("Shape")


def decode(shape: type[Shape], raw: Mapping[str, object]) -> Shape:
    """Return the record that an object is; CorruptDataError if it is none. Fields with a default may be left out."""
    try:
        return convert(raw, shape)
    except ValidationError as error:
        raise CorruptDataError(str(error)) from None
