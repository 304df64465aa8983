"""What is left of a mapping with faults: all that is right, at its own path."""

# ruff: noqa: RUF012 - nobody changes the defaults
from __future__ import annotations

import copy
from typing import Annotated, Any, Literal

import pytest
from pydantic import BeforeValidator, ValidationError

from paislurm.translator.validation.partial_model import partial_model, placed
from paislurm.translator.validation.strict_model import (
    NOT_EMPTY,
    OpenModel,
    StrictModel,
    Text,
    expected,
    int_range,
    name_pattern,
)

NAME = Annotated[str, name_pattern("a name", r"[a-z]+")]


def few(value: object) -> object:
    if value == []:
        raise expected("something")
    return value


class Apple(StrictModel):
    type: Literal["apple"]
    name: NAME


class Pear(OpenModel):
    type: Literal["pear", "quince"]
    name: NAME
    texts: list[Text] = []


class Tree(StrictModel):
    age: Annotated[int, int_range(1)]
    height: Annotated[int, int_range(1)] = 7
    owner: Apple | None = None


class Garden(StrictModel):
    fruit: Annotated[list[Apple | Pear], NOT_EMPTY]
    trees: dict[NAME, Tree]
    first: Tree
    lists: Annotated[list[Text] | None, BeforeValidator(few)] = None


RIGHT: dict[str, Any] = {
    "fruit": [{"type": "apple", "name": "a"}, {"type": "quince", "name": "b", "texts": ["x", "y"], "own": 1}],
    "trees": {"t": {"age": 3}},
    "first": {"age": 4, "height": 5},
    "lists": ["z"],
}


def changed(*path: str | int, to: object) -> dict[str, Any]:
    root = copy.deepcopy(RIGHT)
    inner: Any = root
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    return root


@pytest.mark.parametrize("strict_first", [True, False])
def test_valid_values_are_kept(strict_first: bool) -> None:
    if strict_first:
        Garden.model_validate(RIGHT)
    partial = partial_model(Garden, RIGHT)
    assert partial == Garden.model_validate(RIGHT)
    assert isinstance(partial.fruit[1], Pear)
    assert partial.fruit[1].model_extra == {"own": 1}
    assert partial.trees["t"].model_fields_set == {"age"}


@pytest.mark.parametrize(
    ("file", "at", "left"),
    [
        (changed("first", "age", to="x"), "first.age", None),
        (changed("first", "height", to=0), "first.height", None),
        (changed("first", to=5), "first.age", None),
        (changed("first", to={}), "first.height", 7),
        (changed("trees", to=5), "trees", {}),
        (changed("trees", "T 1", to={"age": 6}), "trees.T 1.age", 6),
        (changed("trees", "t", to=None), "trees.t.height", 7),
        (changed("trees", "t", "owner", to=[]), "trees.t.owner", None),
        (changed("trees", "t", "owner", to={"name": "n"}), "trees.t.owner.name", "n"),
        (changed("fruit", to=[]), "fruit", []),
        (changed("fruit", 0, to=5), "fruit.0", None),
        (changed("fruit", 0, "name", to="A B"), "fruit.0.name", "A B"),
        (changed("fruit", 0, "name", to=5), "fruit.0.name", None),
        (changed("fruit", 0, "type", to="plum"), "fruit.0.type", None),
        (changed("fruit", 0, "type", to=[]), "fruit.0.name", "a"),
        (changed("fruit", 1, "texts", 0, to=5), "fruit.1.texts", [None, "y"]),
        (changed("fruit", 1, "texts", to="x"), "fruit.1.texts", []),
        (changed("lists", to=[]), "lists", []),
        (changed("unknown", to=1), "lists", ["z"]),
    ],
)
def test_invalid_values_become_empty(file: dict[str, Any], at: str, left: object) -> None:
    with pytest.raises(ValidationError):
        Garden.model_validate(file)
    found: Any = partial_model(Garden, file)
    for step in at.split("."):
        items = dict(enumerate(found)) if isinstance(found, list) else found if isinstance(found, dict) else vars(found)
        found = items[int(step) if isinstance(found, list) else step]
    assert found == left


def test_items_have_their_own_paths() -> None:
    assert list(placed(("a",), ["x", None, "y"])) == [(("a", 0), "x"), (("a", 2), "y")]
    assert list(placed(("a",), None)) == []
