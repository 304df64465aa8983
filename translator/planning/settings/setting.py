"""A setting of a script, and the table row that defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable


Owner = TypeVar("Owner")
Value = str | int | tuple[str, ...]
"""A word, a number, or the words of an array."""


class Setting(Struct, frozen=True, kw_only=True):
    """Hold a variable of the script, `name` without its prefix.

    `meaning` contains the unit. `fields` are its sources in the job file, by their names in
    `rendering/provenance.yaml`, and `rule` is their conversion, "" for an unchanged value.
    """

    name: str
    value: Value
    meaning: str
    fields: tuple[str, ...]
    rule: str


class Row(Struct, Generic[Owner], frozen=True):
    """Describe a setting of a job or a role.

    `default` is the value of a missing setting, in bash; None: the runtime tests whether it is set.
    `usual` returns the default for a plan, if it differs from the text of `default`.
    """

    name: str
    meaning: str
    value: Callable[[Owner], Value | None]
    default: str | None = None
    fields: tuple[str, ...] = ()
    rule: str = ""
    usual: Callable[[Owner], Value | None] | None = None

    def setting(self, owner: Owner) -> Setting | None:
        """Return the setting, None for its default."""
        found = self.value(owner)
        value = "" if found is None else found
        if self.usual is not None:
            is_default = value == self.usual(owner)
        elif self.default is None or isinstance(value, tuple):
            is_default = not value
        else:
            is_default = str(value) == self.default.strip("'")
        if is_default:
            return None
        return Setting(name=self.name, value=value, meaning=self.meaning, fields=self.fields, rule=self.rule)
