"""Tables of docs/reference/json.md from the fields of records: `python -m tests.unit.cli.json_page` remakes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct

from paislurm.translator.app.json_documents import definitions, structs
from paislurm.translator.cli.output.documents import COMMANDS
from paislurm.translator.monitor.job_site import Notification
from paislurm.translator.state.journal_records import Record
from paislurm.translator.state.result import Result

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "json.md"
BEGIN = "## Commands\n"
FILES: tuple[type[Struct], ...] = (*get_args(Record), Result, Notification)
WORDS = {"string": "text", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def documents() -> list[type[Struct]]:
    """Return what commands print, each once."""
    return list(dict.fromkeys(document for printed in COMMANDS.values() for document in printed))


def kind(schema: dict[str, Any]) -> str:
    """Return the type of a key in words."""
    if "anyOf" in schema:
        return " or ".join(kind(each) for each in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return "text" if name == "Severity" else f"[{name}](#{name.lower()})"
    if schema.get("format") == "date-time":
        return "time"
    if "enum" in schema:
        return "text"
    if schema.get("type") == "array":
        return f"list of {kind(schema['items'])}" if schema.get("items") else "list"
    if schema.get("type") == "object":
        return f"object of {kind(schema['additionalProperties'])}"
    return WORDS[schema["type"]] if "type" in schema else "any"


def values(schema: dict[str, Any]) -> list[str]:
    """Return the words that a key can have."""
    found = [each for inner in schema.get("anyOf", ()) for each in values(inner)]
    return [f"`{each}`" for each in schema.get("enum", ())] + found


def rows(record: dict[str, Any], without: Iterable[str]) -> Iterator[str]:
    """Yield a row for each key of a record."""
    for key, schema in record["properties"].items():
        if key in without:
            continue
        note = schema.get("description", "")
        missing = [word for word in values(schema) if word not in note]
        said = f"{note} One of {', '.join(missing)}." if missing and key != "kind" else note
        may_miss = "" if key in record.get("required", ()) else " Can be missing."
        yield f"| `{key}` | {kind(schema)} | {said}{may_miss} |"


def tables(records: Iterable[type[Struct]]) -> Iterator[str]:
    """Yield a section for each record."""
    found = definitions(list(records))
    for record in structs(records):
        name = record.__name__
        said = " ".join(found[name].get("description", "").split("\n\n", maxsplit=1)[0].split())
        base = record.__mro__[1].__name__
        inherited = found[base]["properties"] if base in found else ()
        if inherited:
            said += f" It has the keys of [{base}](#{base.lower()}), and:"
        yield f"### {name}\n\n{said}\n\n| key | type | what it is |\n| --- | --- | --- |"
        yield "\n".join(rows(found[name], inherited)) + "\n"


def reference() -> str:
    """Return the tables of the page."""
    lines = ["| command | prints |", "| --- | --- |"]
    for command, printed in COMMANDS.items():
        links = ", ".join(f"[{each.__name__}](#{each.__name__.lower()})" for each in printed)
        lines.append(f"| `{command}` | {links or 'a JSON Schema'} |")
    own = [record for record in FILES if record not in structs(documents())]
    return "\n".join([*lines, "", "## Records\n", *tables(documents()), "## Records of files\n", *tables(own)])


def page() -> str:
    """Return the page with its tables made anew."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[0] + BEGIN + "\n" + reference()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
