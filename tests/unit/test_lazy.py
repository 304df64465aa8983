"""Classes and expressions that are made when they are used are what Python would have made at once."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import FrozenInstanceError, asdict, field, fields, is_dataclass
from functools import cached_property
from typing import Any

import pytest

from paislurm.translator.lazy import dataclass, regex, replace


@dataclass(frozen=True, kw_only=True)
class Lazy:
    """One of ours."""

    first: int
    second: tuple[str, ...] = ()
    third: list[int] = field(default_factory=list, compare=False)
    fourth: str = field(default="secret", repr=False)


@dataclass(frozen=True, kw_only=True)
class Below(Lazy):
    """One that has the fields of another."""

    fifth: int = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plain:
    """One of Python's."""

    first: int
    second: tuple[str, ...] = ()
    third: list[int] = field(default_factory=list, compare=False)
    fourth: str = field(default="secret", repr=False)


def untyped(value: Any) -> Any:
    """Return the value, with which a test may do what types forbid."""
    return value


def test_it_is_as_those_of_python() -> None:
    ours, python = Lazy(first=1, third=[3]), Plain(first=1, third=[3])
    assert repr(ours) == repr(python).replace("Plain", "Lazy")
    assert asdict(ours) == asdict(python)
    assert replace(ours, first=2) == Lazy(first=2) != ours
    assert hash(ours) == hash(Lazy(first=1, third=[4]))
    assert ours != python
    with pytest.raises(FrozenInstanceError):
        untyped(ours).first = 2
    with pytest.raises(TypeError, match="first"):
        untyped(Lazy)()
    with pytest.raises(TypeError, match="sixth"):
        untyped(Lazy)(first=1, sixth=6)
    with pytest.raises(FrozenInstanceError):
        del ours.first


def test_a_copy_has_other_values() -> None:
    @dataclass(frozen=True)
    class Counted(Below):
        """One that keeps what it has worked out."""

        @cached_property
        def doubled(self) -> int:
            """Work it out once."""
            return 2 * self.first

    one = Counted(first=1, second=("a",))
    assert one.doubled == 2
    two = replace(one, first=2, fifth=7)
    assert two == dataclasses.replace(one, first=2, fifth=7)
    assert (two.doubled, one.first, two.second, type(two)) == (4, 1, ("a",), Counted)
    with pytest.raises(TypeError, match="Counted: sixth: unknown"):
        untyped(replace)(one, sixth=6)


def test_values_may_have_no_names() -> None:
    @dataclass
    class Pair:
        """One of ours, which changes."""

        left: int
        right: int = 2

    assert Pair(1) == Pair(left=1, right=2) == Pair(1, 2)
    with pytest.raises(ValueError, match="longer"):
        untyped(Pair)(1, 2, 3)
    pair = Pair(1)
    pair.left = 5
    assert pair.left == 5


def test_fields_are_there_before_an_instance_is() -> None:
    @dataclass(frozen=True)
    class New(Lazy):
        """One of which there is no instance."""

        sixth: int = 6

    assert is_dataclass(New)
    assert [each.name for each in fields(New)] == ["first", "second", "third", "fourth", "sixth"]


def test_a_class_below_has_the_fields_above() -> None:
    assert Below(first=1) == Below(first=1, fifth=5)
    assert Below(first=1) != Lazy(first=1)
    assert [each.name for each in fields(Below)] == ["first", "second", "third", "fourth", "fifth"]


def test_an_expression_is_compiled_when_it_is_used() -> None:
    wrong = regex("(")
    assert wrong.pattern == "("
    with pytest.raises(re.error):
        wrong.match("x")
    found = regex("A(b)", re.IGNORECASE).fullmatch("aB")
    assert found is not None
    assert found[1] == "B"
