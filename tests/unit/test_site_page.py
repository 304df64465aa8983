"""The page about the site profile has every key, with what the schema says of it; its examples are profiles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from paislurm.translator.site.load import load_site
from paislurm.translator.site.schema import SiteFile
from paislurm.translator.validation.json_schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = Path(__file__).parents[2] / "docs" / "administrator"
PAGE = (PAGES / "site-profile.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([^`]+)` \| (.*) \| (.*) \|$", re.MULTILINE)
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE + (PAGES / "profiles.md").read_text(encoding="utf-8"), re.DOTALL)
SCHEMA = json_schema(SiteFile, "site")


def keys(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield path, note and default of every key; `NAME` stands for a name, and an item of a list for the list."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
    for inner in schema.get("anyOf", ()):
        yield from keys(inner, path)
    for key, value in schema.get("properties", {}).items():
        yield f"{path}{key}", value["description"], default(value.get("default"))
        yield from keys(value, f"{path}{key}.")
    if isinstance(values := schema.get("additionalProperties"), dict):
        yield from keys(values, f"{path}NAME.")
    if "items" in schema:
        yield from keys(schema["items"], path)


def default(value: object) -> str:
    return "" if value in (None, "") else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def test_every_key_has_its_row() -> None:
    wanted = {key: (note, default) for key, note, default in keys(SCHEMA)}
    found = {key: (note, default) for key, note, default in ROW.findall(PAGE)}
    assert found == wanted


def test_every_key_is_explained() -> None:
    assert [key for key, note, _ in keys(SCHEMA) if not note] == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_profiles(example: str) -> None:
    assert load_site(example, file="site.yaml").known


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= len(("the whole", "GPUs", "InfiniBand"))
