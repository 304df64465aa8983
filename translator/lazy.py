"""What is made when it is first used, and not by every command that loads its module.

Python's `dataclass` compiles six methods for each class, and `re.compile` reads each expression: together they took
a third of a short command's time. A command uses few of the classes and expressions that its modules have.
"""

from __future__ import annotations

import re
from _thread import RLock
from operator import attrgetter
from typing import TYPE_CHECKING

__all__ = ["dataclass", "regex", "replace"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass, replace
    from re import compile as regex
    from typing import Any
else:

    def dataclass(cls=None, /, **options):
        """Make a class what `dataclasses.dataclass` makes of it, when its first instance or its fields are wanted.

        The options are those of `dataclasses.dataclass` but for `slots`, which would need another class, and `order`.
        """
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        cls.__init__ = _first_init(cls)
        cls.__dataclass_fields__ = _Fields(cls, options)
        for name, method in _METHODS.items():
            if name not in cls.__dict__:
                setattr(cls, name, method)
        return cls

    def regex(text, flags=0):
        """Return a regular expression as `re.compile` does; it is compiled when it is first used."""
        return _Pattern(text, flags)

    def replace(instance, /, **changes):
        """Return a copy with other values as `dataclasses.replace` does, at a tenth of its cost where fields are many.

        It is for classes of this module's `dataclass`: their instances are their values and nothing else.
        """
        fields, held = instance.__dataclass_fields__, vars(instance)
        made = {name: held[name] for name in fields} | changes
        if len(made) != len(fields):
            raise TypeError(f"{type(instance).__qualname__}: {', '.join(sorted(made.keys() - fields))}: unknown")
        new = object.__new__(type(instance))
        object.__setattr__(new, "__dict__", made)
        return new


_COMPLETING = RLock()


class _Fields:
    """Stand for the fields of a class until somebody wants them, and complete the class then."""

    def __init__(self, owner: type, options: dict[str, Any]) -> None:
        self.owner = owner
        self.options = options

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Complete the class, and return its fields or, in a class below it, those that it has as well."""
        _complete(self.owner, self.options)
        return self.owner.__dict__["__dataclass_fields__"]


def _complete(cls: Any, options: dict[str, Any]) -> None:
    """Have Python's `dataclass` do the rest, in one thread while others wait."""
    import dataclasses

    with _COMPLETING:
        if not isinstance(vars(cls).get("__dataclass_fields__"), _Fields):
            return
        del cls.__dataclass_fields__
        # Our methods take the place of its own, so that it compiles none.
        dataclasses.dataclass(kw_only=options.get("kw_only", False), init=False, repr=False, eq=False)(cls)
        cls.__init__ = _init(cls)
        if options.get("frozen"):
            cls.__setattr__ = cls.__delattr__ = _refuse


def _init(cls: Any) -> Callable[..., None]:
    """Return what makes an instance: each field has the value that is given for it, or its default."""
    from dataclasses import MISSING, fields

    every = {field.name: field for field in fields(cls)}
    positional = [name for name, field in every.items() if not field.kw_only]
    defaults = {name: field.default for name, field in every.items() if field.default is not MISSING}
    makers = [(name, field.default_factory) for name, field in every.items() if field.default_factory is not MISSING]
    put = object.__setattr__

    def init(self: Any, *args: Any, **values: Any) -> None:
        if args:
            values.update(zip(positional[: len(args)], args, strict=True))
        made = {**defaults, **values}
        for name, make in makers:
            if name not in values:
                made[name] = make()
        if made.keys() != every.keys():
            raise TypeError(f"{cls.__qualname__}: {', '.join(sorted(made.keys() ^ every.keys()))}: missing or unknown")
        put(self, "__dict__", made)

    return init


def _refuse(_: object, name: str, *__: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to or delete field {name!r}")


def _first_init(cls: Any) -> Callable[..., None]:
    """Return what completes a class before its first instance."""

    def complete_and_init(self: Any, *args: Any, **values: Any) -> None:
        with _COMPLETING:
            cls.__dataclass_fields__  # noqa: B018 - to look at them completes the class
        cls.__init__(self, *args, **values)

    return complete_and_init


def _compared(cls: Any) -> Callable[[object], Any]:
    """Return what reads the values by which instances of a class are compared, and keep it in the class."""
    read = cls.__dict__.get("_compared")
    if read is None:
        names = [name for name, field in cls.__dataclass_fields__.items() if field.compare]
        read = cls._compared = staticmethod(attrgetter(*names) if names else lambda _: ())
    found: Callable[[object], Any] = read.__func__
    return found


def _equal(self: object, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    read = _compared(type(self))
    return read(self) == read(other)


def _hash(self: object) -> int:
    return hash(_compared(type(self))(self))


def _show(self: Any) -> str:
    values = [f"{name}={getattr(self, name)!r}" for name, field in self.__dataclass_fields__.items() if field.repr]
    return f"{type(self).__qualname__}({', '.join(values)})"


_METHODS = {"__eq__": _equal, "__hash__": _hash, "__repr__": _show}


class _Pattern:
    """Stand for a regular expression until it is used."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile the expression, and keep what was asked of it."""
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found
