"""Documents of `--json` against their JSON Schemas."""

from __future__ import annotations

import json
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING

import jsonschema

from paislurm.translator.cli.command_group import ALIASES
from paislurm.translator.cli.output.documents import COMMANDS, ERROR, output_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

IN_A_TASK = ("exec", "ssh")
DATA = frozenset({"backend_states", "overrides", "parameters", "ports_by_label", "slurm_options", "states", "sweep"})
"""Objects whose keys are data."""
TEXTS = ("text", "value")
LINES = "watch"
"""The command that prints a document a line."""


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return what holds documents of a command against their schema; of `site` those of all its commands."""
    names = [each for each in COMMANDS if each.split()[0] == ALIASES.get(name, name) or each == name]
    return jsonschema.Draft202012Validator(output_schema(names))


def faults(name: str, document: object) -> list[str]:
    """Return what a schema says against a document, one line for each shape that it could have."""
    said = [f"{name}: {key} is an empty text" for key in sorted(empty(document))]
    return said + [
        f"{name}: {'.'.join(map(str, inner.absolute_path))}: {inner.message[-300:]}"
        for error in validator(name).iter_errors(document)
        for inner in (error.context or [error])
    ]


def empty(value: object) -> set[str]:
    """Return the keys of a document that have an empty text where null is meant: not a text as it stands in a file."""
    if isinstance(value, list):
        return {key for each in value for key in empty(each)}
    if not isinstance(value, dict) or "$schema" in value:  # in a schema a default may be an empty text
        return set()
    found = {key for key, each in value.items() if each == "" and key not in TEXTS}
    return found | {key for name, each in value.items() if name not in DATA for key in empty(each)}


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
