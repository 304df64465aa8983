"""The page about the site profile has every key, with what the schema says of it; its examples are profiles.

`.venv/bin/python -m tests.unit.test_site_page` writes the rows of its tables from the docstrings of fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paislurm.translator.site.load import load_site
from paislurm.translator.site.profile import Site
from paislurm.translator.validation.json_schema import json_schema

DOCS = Path(__file__).parents[2] / "docs"
FILE = DOCS / "reference/site-profile.md"
PAGE = FILE.read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([^`]+)` \| (.*) \| (.*) \|$", re.MULTILINE)
EXAMPLES = re.findall(
    r"```yaml\n(.*?)```", PAGE + (DOCS / "how-to/cluster/lock-settings.md").read_text(encoding="utf-8"), re.DOTALL
)
AMOUNTS = "#/$defs/Amounts"
"""The keys of this table are in a sentence of the page: it occurs five times."""
SCHEMA = json_schema(Site, "site")


def keys(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield path, note and default of every key; `NAME` stands for a name, and an item of a list for the list."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
    for inner in schema.get("anyOf", ()):
        yield from keys(inner, path)
    for key, value in schema.get("properties", {}).items():
        yield f"{path}{key}", value["description"], default(value.get("default"))
        if value.get("$ref") != AMOUNTS:
            yield from keys(value, f"{path}{key}.")
    if isinstance(values := schema.get("additionalProperties"), dict):
        yield from keys(values, f"{path}NAME.")
    if "items" in schema:
        yield from keys(schema["items"], path)


def default(value: object) -> str:
    return "" if value in (None, "") else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def row(key: str, note: str, default: str) -> str:
    return f"| `{key}` | {note} | {default} |"


def remade(page: str) -> str:
    """Return the page with the rows of the schema; the page decides in which table a key stands."""
    rows = {key: row(key, note, default) for key, note, default in keys(SCHEMA)}
    return ROW.sub(lambda found: rows.get(found[1], found[0]), page)


def test_every_key_has_a_row() -> None:
    assert [key for key, _, _ in ROW.findall(PAGE)] != []
    assert {key for key, _, _ in ROW.findall(PAGE)} == {key for key, _, _ in keys(SCHEMA)}
    assert remade(PAGE) == PAGE


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_valid_profiles(example: str) -> None:
    assert load_site(example, file="site.yaml").is_known


def test_examples_exist() -> None:
    assert len(EXAMPLES) >= len(("the whole", "GPUs", "InfiniBand"))


if __name__ == "__main__":
    FILE.write_text(remade(PAGE), encoding="utf-8")
