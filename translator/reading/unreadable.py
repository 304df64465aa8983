"""Errors for files that are not YAML or not job files, with a location and a hint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import Diagnostic, Location

if TYPE_CHECKING:
    import yaml


_UNFINISHED = re.compile(r"unexpected (?:end of stream|document indicator)|expected ',' or|expected ':'")
"""Errors to report at the start of the construct: the library notices them later, perhaps at the end of the file."""
_VALUE_MISSING = re.compile(r"expected (?:the )?node content")
_WORDS: tuple[tuple[str, str, str], ...] = (
    # The library's text (context or problem), our message, our hint.
    (
        r"mapping values are not allowed",
        "a `:` is not possible here",
        "put text that contains `: ` in quotes, and check the indentation of this line and the one above",
    ),
    (
        r"found character '\\t'|found a tab|found character that cannot start any token",
        "a value cannot begin with this character",
        "put text that begins with one of @ ` % in quotes",
    ),
    (
        r"while scanning a quoted scalar",
        "a text has no closing quote",
        'add the missing quote; a quote inside single quotes is written twice, inside double quotes as \\"',
    ),
    (
        r"while parsing a flow sequence|did not find expected ',' or '\]'",
        "a list in `[ ]` is not closed, or lacks a comma",
        "add the missing `]` or `,`; text that begins with `[` needs quotes",
    ),
    (
        r"while parsing a flow mapping|did not find expected ',' or '\}'",
        "a mapping in `{ }` is not closed, or lacks a comma",
        "add the missing `}` or `,`; text that begins with `{` needs quotes",
    ),
    (
        r"could not find expected ':'",
        "this key has no `:`",
        "write `key: value`; check the indentation of this line and the one above",
    ),
    (
        r"block sequence entries are not allowed",
        "a list item `- ` is not possible here",
        "start the list on a new line below its key",
    ),
    (
        r"while parsing a block mapping|did not find expected key|expected <block end>",
        "this line does not belong to the mapping above it",
        "give all keys of a mapping the same indentation, and remove text after a closing quote",
    ),
    (
        r"while parsing a block collection|did not find expected '-' indicator",
        "this line does not belong to the list above it",
        "give all items of a list the same indentation, each beginning with `- `",
    ),
    (
        r"undefined tag handle|while parsing a tag|while scanning a tag",
        "a word that begins with `!` is a tag, and this tag is invalid",
        "put text that begins with `!` in quotes",
    ),
    (
        r"while scanning an anchor|while scanning an alias",
        "`&` and `*` at the beginning of a value have a special meaning in YAML",
        "put text that begins with `&` or `*` in quotes; use only letters, digits, `_` and `-` in names of anchors",
    ),
    (
        r"mapping keys are not allowed",
        "a `?` at the beginning of a value has a special meaning in YAML",
        "put text that begins with `?` in quotes",
    ),
    (
        r"did not find expected node content|expected the node content",
        "expected a value",
        "delete a superfluous `,`; put text that begins with `,`, `?` or `:` in quotes",
    ),
    (
        r"while scanning a plain scalar",
        "a `:` is not possible here",
        "put text that contains `:` in quotes; separate a key from its value by `: `",
    ),
    (
        r"while scanning a block scalar",
        "this block of text cannot be read",
        "write `|` or `>-` alone at the end of the key's line, and indent the text below with spaces",
    ),
    (
        r"unknown escape character|did not find expected hexdecimal|invalid Unicode character escape",
        "this backslash in double quotes is not an escape of YAML",
        "use single quotes, which keep backslashes, or write it twice",
    ),
    (
        r"found duplicate anchor|duplicate %",
        "the same thing is declared twice",
        "delete one of the two",
    ),
    (
        r"incompatible YAML document",
        "this version of YAML is unknown",
        "remove the line `%YAML`",
    ),
    (
        r"exceeded maximum nesting depth",
        "values are nested too deep",
        "look for unclosed brackets",
    ),
    (
        r"did not find expected <document start>|expected '<document start>'",
        "this line does not belong to anything above it",
        "remove the indentation of the top-level keys",
    ),
)


def yaml_error(error: yaml.YAMLError, lines: tuple[str, ...], *, file: str) -> Diagnostic:
    """Return the diagnostic for a file that is not YAML."""
    # The library sets these for all errors but invalid characters, which `decode` refuses earlier.
    problem, context = str(getattr(error, "problem", "") or ""), str(getattr(error, "context", "") or "")
    mark, began = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    if mark and _VALUE_MISSING.search(problem) and not any(each.strip() for each in lines[mark.line :]):
        problem = "did not find expected ',' or ']'"
    row = next((row for part in (problem, context) for row in _WORDS if part and re.search(row[0], part)), None)
    message, hint = row[1:] if row else (f"this is not YAML: {context} {problem}".rstrip(), "")
    if mark and began and _UNFINISHED.search(problem):
        message += f", noticed at line {mark.line + 1}" if mark.line > began.line else ""
        mark = began
    location = Location(file=file, line=mark.line + 1, column=mark.column + 1) if mark else Location(file=file)
    unseen = _invisible_character(lines[max(location.line - 2, 0) : location.line])
    return Diagnostic(code="E104", message=unseen[0] or message, location=location, hint=unseen[1] or hint)


def _invisible_character(lines: tuple[str, ...]) -> tuple[str, str]:
    """Return a message and a hint for an invisible or look-alike character in the lines, or empty ones."""
    if any(re.match(r" *\t", line) for line in lines):
        return "a line is indented with a tab", "indent with spaces"
    if any("\u00a0" in line for line in lines):
        return "", "replace the no-break spaces (U+00A0, often from a web page) by ordinary spaces"
    if any(re.search("[\u201c\u201d\u2018\u2019]", line) for line in lines):
        return "", "replace the typographic quotes by ' or \""
    return "", ""


_SBATCH = re.compile(r"^#SBATCH\b", re.MULTILINE)
_SHELL = re.compile(r"#![^\n]*sh\b")
_PYTHON = re.compile(r"(?:#[^\n]*\n|\s)*(?:import \w|from [\w.]+ import |def \w+\()")
_BATCH_SCRIPT = (
    "a batch script of Slurm",
    "submit it with sbatch, or write a job file: `protocolVersion: 2`, and the commands under `taskRoles`",
)
_PROGRAM = "write a job file: `protocolVersion: 2`, and under `commands` what to run, as in `- python train.py`"
_SITE = ("a site profile", "pass it beside a job file: `--site FILE`")
SITE_KEYS = frozenset(("partitions", "defaultPartition", "virtualClusters", "nodeTypes", "slurmVersion", "storages"))
"""Keys that only site profiles have at their top level."""
_OF_OTHERS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset(("apiVersion", "kind")), "a Kubernetes manifest"),
    (frozenset(("services",)), "a docker compose file"),
    (frozenset(("resources", "run")), "a SkyPilot task"),
    (frozenset(("setup", "run")), "a SkyPilot task"),
    (frozenset(("num_nodes", "run")), "a SkyPilot task"),
)
"""Keys that identify files of other programs, and the kinds of these files."""
_WRITE = "write the job as protocol v2: `protocolVersion: 2`, `prerequisites`, `taskRoles`"
_OF_JOBS = ("protocolVersion", "taskRoles", "jobName", "prerequisites")


def error_of_text(text: str, file: str) -> Diagnostic | None:
    """Return the error for a script that is not YAML, None for any other text."""
    if any(key in text for key in _OF_JOBS):
        return None
    if _SBATCH.search(text):
        return _error(*_BATCH_SCRIPT, Location(file=file))
    if _SHELL.match(text):
        return _error("a shell script", _PROGRAM, Location(file=file))
    return _error("a program in Python", _PROGRAM, Location(file=file)) if _PYTHON.match(text) else None


def error_of_mapping(root: object, file: str) -> Diagnostic | None:
    """Return the error for a file whose keys show another kind, None for a possible job file."""
    if not isinstance(root, Mapping) or any(key in root for key in _OF_JOBS):
        return None
    if SITE_KEYS & root.keys():
        return _error(*_SITE, Location(file=file))
    found = next((what for keys, what in _OF_OTHERS if keys <= root.keys()), None)
    return _error(found, _WRITE, Location(file=file)) if found else None


def _error(what: str, hint: str, location: Location) -> Diagnostic:
    return Diagnostic(code="E640", message=f"this looks like {what}, not a job file", location=location, hint=hint)
