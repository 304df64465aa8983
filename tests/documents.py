"""Documents of `--json` against their JSON Schemas."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING

import jsonschema

from paislurm.translator.cli.command_group import ALIASES
from paislurm.translator.cli.output.documents import COMMANDS, ERROR, output_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

IN_A_TASK = ("exec", "ssh")
DATA = frozenset({"backend_states", "overrides", "parameters", "ports_by_label", "slurm_options", "states", "sweep"})
"""Objects whose keys are data."""
TEXTS = ("text", "value")
ZONED = r"None|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d"
SINCE_1970 = range(1_000_000_000, 4_000_000_000)
LINES = "watch"
"""The command that prints a document a line."""


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return what holds documents of a command against their schema; of `site` those of all its commands."""
    names = [each for each in COMMANDS if each.split()[0] == ALIASES.get(name, name) or each == name]
    return jsonschema.Draft202012Validator(output_schema(names))


def faults(name: str, document: object) -> list[str]:
    """Return what a schema says against a document, one line for each shape that it could have."""
    said = [f"{name}: {each}" for each in odd(document)]
    return said + [
        f"{name}: {'.'.join(map(str, inner.absolute_path))}: {inner.message[-300:]}"
        for error in validator(name).iter_errors(document)
        for inner in (error.context or [error])
    ]


def odd(value: object, key: str = "") -> Iterator[str]:
    """Yield what no schema says of a document: null is meant by an empty text, and times have a zone.

    A text may be empty as it stands in a file. A number since 1970 is a time, too.
    """
    if isinstance(value, list):
        for each in value:
            yield from odd(each, key) if isinstance(each, dict | list) else ()
    elif isinstance(value, dict) and key not in DATA and "$schema" not in value:  # in a schema a default may be empty
        for name, each in value.items():
            yield from odd(each, name)
    elif value == "" and key not in TEXTS:
        yield f"{key} is an empty text"
    elif key.endswith("_at") and not re.fullmatch(ZONED, str(value)):
        yield f"{key} is no time with a zone: {value}"
    elif isinstance(value, int) and value in SINCE_1970:
        yield f"{key} is a number since 1970: {value}"


def check_output(words: Sequence[str], output: str) -> None:
    """Hold what a command line printed with `--json` against the schema. `--json` may be a word of a task's command."""
    own = takewhile(lambda word: word != "--", words)
    if "--json" not in own or (not output and words[0] in IN_A_TASK):
        return
    known = {name.split()[0] for name in COMMANDS}
    name = words[0] if words[0] in known or words[0] in ALIASES else ERROR
    texts = output.splitlines() if name == LINES else [output]
    wrong = [line for text in texts for line in faults(name, json.loads(text))]
    assert not wrong, "\n".join(wrong)
