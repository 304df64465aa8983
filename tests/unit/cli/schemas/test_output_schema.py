"""What `paislurm schema output` prints: a schema for every command, which says what the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from paislurm.translator.cli.command_group import COMMANDS
from paislurm.translator.cli.output.documents import document
from paislurm.translator.cli.schemas.output_schema import commands, meanings, output_schema
from paislurm.translator.planning.plan_text import plan_dict
from tests.documents import faults
from tests.golden.remake import CASES, compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..running import Runner

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "json.md"
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.+) \|$", re.MULTILINE)
TYPES = {"string": "text", "integer": "number", "number": "number", "boolean": "boolean", "array": "list"}
SAME = {"wait": "status", "watch": "list", "error": "an error"}
ADDED = {"submit": {"cancel", "status"}}
"""`submit --wait` adds what `cancel` has, and of `status` why the job failed."""
VERSION = {"schemaVersion": 3, "paislurm_version": "1"}


def shapes(name: str) -> Iterator[dict[str, Any]]:
    """Yield each object that a command prints."""
    schema = output_schema([name])
    yield from (each for key, each in schema["$defs"].items() if key not in ("ErrorDocument", "Diagnostic"))


def kind(schema: dict[str, Any]) -> str:
    """Return the type of a key in the word of the page."""
    if "anyOf" in schema:
        return kind(schema["anyOf"][0])
    if "$ref" in schema or "additionalProperties" in schema:
        return "object"
    if schema.get("format") == "date-time":
        return "time"
    if "enum" in schema:
        return "text"
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return TYPES[types[0]]


def test_every_command_has_a_schema() -> None:
    assert {name.partition(" ")[0] for name in commands()} == {*COMMANDS, "error"}


@pytest.mark.parametrize("name", [*commands(), ""])
def test_schemas_are_strict_schemas_in_which_every_key_is_described(run: Runner, name: str) -> None:
    said = run("schema", "output", *name.split())
    schema = json.loads(said.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    used = set(re.findall(r'"#/\$defs/(\w+)"', said.out))
    assert used == set(schema["$defs"])
    for definition in schema["$defs"].values():
        assert definition["additionalProperties"] is False
        assert set(definition["required"]) <= set(definition["properties"])
        assert all(each["description"] for each in definition["properties"].values())


@pytest.mark.parametrize("name", commands())
def test_the_page_says_of_each_key_what_the_schema_says(name: str) -> None:
    page = {
        key: (kind, set(where.split(", ")), meaning)
        for key, kind, where, meaning in ROW.findall(PAGE.read_text("utf-8"))
    }
    places = {"all", SAME.get(name, name.partition(" ")[0]), *ADDED.get(name, ())}
    for shape in shapes(name):
        for key, schema in shape["properties"].items():
            if key == "schemaVersion":
                continue
            what, where, meaning = page[key]
            assert (what, meaning) == (kind(schema), schema["description"]), key
            assert where & places, (key, name)


def test_the_table_of_keys_has_those_that_are_printed_and_no_others() -> None:
    schema = output_schema()
    assert {key for each in schema["$defs"].values() for key in each["properties"]} == set(meanings())


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (VERSION | {"more": 1}, "more"),
        ({"schemaVersion": 3}, "paislurm_version"),
        ({"paislurm_version": "1"}, "schemaVersion"),
        (VERSION | {"schemaVersion": 2}, "3 was expected"),
        (VERSION | {"paislurm_version": None}, "None is not of type"),
    ],
)
def test_another_document_is_refused(document: dict[str, object], why: str) -> None:
    assert faults("version", VERSION) == []
    assert any(why in line for line in faults("version", document))


def test_an_error_is_a_document_of_every_command() -> None:
    error = {"schemaVersion": 3, "error": "a", "exit_status": 2, "diagnostics": []}
    assert [name for name in commands() if faults(name, error)] == []
    assert faults("error", error | {"diagnostics": [{"code": "E1", "severity": "bad", "message": "a"}]})


def test_plans_keep_to_the_schema_of_the_records_that_they_are_made_of() -> None:
    plans = [json.loads(json.dumps(document(plan_dict(compiled(case).plan)))) for case in CASES]
    assert plans
    assert [faults("plan", plan) for plan in plans if faults("plan", plan)] == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["output", "frobnicate"], "there is no schema of 'frobnicate'; there are: check, plan"),
        (["output", "site"], "there is no schema of 'site'; there are: "),
        (["v1", "list"], "a COMMAND goes with `output` alone: paislurm schema output list"),
    ],
)
def test_what_has_no_schema_is_wrong_usage(run: Runner, words: list[str], says: str) -> None:
    said = run("schema", *words)
    assert (said.code, said.out) == (2, "")
    assert says in said.err


def test_another_name_of_a_command_has_its_schema(run: Runner) -> None:
    assert run("schema", "output", "ls").out == run("schema", "output", "list").out
