"""A setting of a script, and the row of a table that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable


Owner = TypeVar("Owner")
Value = str | int | tuple[str, ...]
"""A word, a number, or the words of an array."""


class Setting(Struct, frozen=True, kw_only=True):
    """Tell the script one thing, `name` without the prefix of its variables.

    `meaning` has the unit. `fields` are the parts of the job file that it comes from, by their names in
    `rendering/provenance.yaml`, and `rule` says how, "" where it is a field's value as it stands.
    """

    name: str
    value: Value
    meaning: str
    fields: tuple[str, ...]
    rule: str


class Row(Struct, Generic[Owner], frozen=True):
    """Describe a setting of a job or a role.

    `default` is its value where the script does not have it, as bash writes it for the runtime; None: the runtime asks
    whether there is one. `usual` finds the same value for a plan, where it is not the text of `default`.
    """

    name: str
    meaning: str
    value: Callable[[Owner], Value]
    default: str | None = None
    fields: tuple[str, ...] = ()
    rule: str = ""
    usual: Callable[[Owner], Value | None] | None = None

    def setting(self, owner: Owner) -> Setting | None:
        """Return the setting, None where it has its default."""
        value = self.value(owner)
        if self.usual is not None:
            is_default = value == self.usual(owner)
        elif self.default is None or isinstance(value, tuple):
            is_default = not value
        else:
            is_default = str(value) == self.default.strip("'")
        if is_default:
            return None
        return Setting(name=self.name, value=value, meaning=self.meaning, fields=self.fields, rule=self.rule)
