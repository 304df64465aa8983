"""The page about job files has every key, with what the schema says of it, and every parameter of a plugin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paislurm.translator.protocol.v1.schema import JobFileV1
from paislurm.translator.protocol.v2 import plugin_parameters
from paislurm.translator.protocol.v2.schema import JobFile
from paislurm.translator.validation.json_schema import json_schema

PAGE = Path(__file__).parents[3] / "docs/reference/job-file.md"
ROW = re.compile(r"^\| `([^`]+)` \| (.*) \| (.*) \|$", re.MULTILINE)
PLUGINS = {
    "cmd": plugin_parameters.Cmd,
    "git": plugin_parameters.Git,
    "ssh": plugin_parameters.Ssh,
    "teamwise_storage": plugin_parameters.TeamwiseStorage,
    "tensorboard": plugin_parameters.Tensorboard,
}


def keys(protocol: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the note of every key; `extras.slurm` has a page of its own."""
    schema = json_schema(JobFile if protocol == "v2" else JobFileV1, "job")
    yield from keys_of(schema, schema["$defs"])


def keys_of(schema: dict[str, Any], named: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    if "$ref" in schema:
        schema = named[schema["$ref"].rsplit("/", 1)[-1]]
    for inner in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from keys_of(inner, named, path)
    for key, value in schema.get("properties", {}).items():
        yield f"{path}{key}", value["description"]
        if f"{path}{key}" != "extras.slurm":
            yield from keys_of(value, named, f"{path}{key}.")
    for values in (schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()):
        if isinstance(values, dict):
            yield from keys_of(values, named, f"{path}NAME.")
    if "items" in schema:
        yield from keys_of(schema["items"], named, path)


def section(title: str) -> str:
    page = PAGE.read_text(encoding="utf-8")
    (found,) = re.findall(rf"^##+ {title}\n(.*?)(?=^##+ |\Z)", page, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.mark.parametrize("protocol", ["v1", "v2"])
def test_every_key_has_a_row(protocol: str) -> None:
    rows = ROW.findall(section(f"Protocol {protocol}"))
    assert [(key, note) for key, note, _ in rows] == list(dict.fromkeys(keys(protocol)))
    assert [key for key, _, becomes in rows if not becomes.strip()] == []


def test_every_plugin_parameter_has_a_row() -> None:
    rows = ROW.findall(section("Runtime plugins"))
    found = {(plugin, key) for plugin, names, _ in rows for key in re.findall(r"`(\w+)`", names)}
    assert found == {
        (plugin, field.alias or name) for plugin, model in PLUGINS.items() for name, field in model.model_fields.items()
    }
