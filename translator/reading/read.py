"""Reader of job files in YAML or JSON: text becomes plain values with locations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from ..errors import Diagnostic, Location, ProtocolError
from .decode import (
    MAX_FILE,
    UTF_16,
    UndecodableError,
    decode,
    lines_of,
    refuse_foreign_breaks,
    shown_of_document,
    shown_of_text,
    with_sources,
)
from .document import Document
from .json_nodes import JsonReader, looks_like_v1
from .located_nodes import Spans
from .unreadable import error_of_text, yaml_error
from .yaml_nodes import Composer, FatalReadError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .document import Value
    from .located_nodes import Node

_LOADER: type = getattr(yaml, "CLoader", yaml.Loader)
_KEYS_OF_JOBS = frozenset(("protocolVersion", "taskRoles"))
"""Keys by which a second document is a second job."""
_TAB_LINE = re.compile(r"^ *\t[ \t]*(?=#|\r?$)", re.MULTILINE)
_STOPS_AT_TAB = re.compile("violates indentation|cannot start any token")
_MAX_TAB_LINES = 100
"""Each costs another parse of the whole text."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape for a surrogate: the fast loader refuses even a pair, which js-yaml accepts."""


def read(text: str | bytes, *, file: str) -> Document:
    """Return the values of a YAML file and their locations; a text that looks like protocol v1 is read as JSON.

    Raises `ProtocolError` with all errors: invalid UTF-8, YAML or JSON, duplicate keys, tags, more than
    two documents. Source: PAI protocol v2; js-yaml 3.13, which OpenPAI's server uses.
    """
    try:
        source = decode(text, file=file)
        json = JsonReader(source, file=file) if looks_like_v1(source) else None
        if not json:
            refuse_foreign_breaks(source, file=file)
    except UndecodableError as error:
        raise ProtocolError(with_sources(error.diagnostics, _undecoded_lines(text))) from None
    lines = lines_of(source)
    composer = Composer(file)
    roots: list[Node] = []
    try:
        roots.extend(composer.documents(json.events() if json else yaml_events(source)))
    except yaml.YAMLError as error:
        found = [*composer.diagnostics, yaml_error(error, lines, file=file)]
        raise _refusal(found, source, lines, file) from None
    except FatalReadError as error:
        found = [*composer.diagnostics, error.diagnostic]
        raise _refusal(found, source, lines, file) from None
    diagnostics = composer.diagnostics + _root_errors(roots, file)
    if diagnostics:
        raise _refusal(diagnostics, source, lines, file)
    secrets = roots[1].value if len(roots) > 1 else None
    return Document(
        file=file,
        root=roots[0].value,
        spans=Spans(roots[0], lines),
        lines=lines,
        shown=shown_of_document(lines, composer.secret_lines, roots[1].line if len(roots) > 1 else 0),
        secrets=secrets if isinstance(secrets, dict) else None,
        warnings=(*(json.warnings if json else ()), *(_secrets_warning(root, file) for root in roots[1:])),
    )


def _refusal(found: Sequence[Diagnostic], text: str, lines: tuple[str, ...], file: str) -> ProtocolError:
    """Return the error with all diagnostics; for a script, a single one that names its kind."""
    return ProtocolError(error_of_text(text, file) or with_sources(found, shown_of_text(lines)))


def _undecoded_lines(text: str | bytes) -> Sequence[str]:
    """Return the lines of undecodable text that can be shown; none of a file in UTF-16."""
    if isinstance(text, bytes):
        text = "" if text[:2] in UTF_16 or len(text) > MAX_FILE else text.decode("utf-8", errors="replace")
    return shown_of_text(lines_of(text.removeprefix("\ufeff")))


def yaml_events(source: str) -> Iterator[yaml.Event]:
    """Return the events of a YAML text. Raises `yaml.YAMLError`."""
    return _parse(_without_tabs(source) if _TAB_LINE.search(source) else source)


def _parse(source: str) -> Iterator[yaml.Event]:
    events: Iterator[yaml.Event] = yaml.parse(source, Loader=yaml.Loader if _SURROGATE.search(source) else _LOADER)
    return events


def _without_tabs(source: str) -> str:
    """Return the text with spaces for those tabs in blank lines and comments that libyaml refuses.

    Source: YAML 1.2, s-separate-in-line; js-yaml 3.13. Tabs inside block scalars are text and stay.
    """
    for _ in range(_MAX_TAB_LINES):
        line = _tab_line_that_stops(source)
        if line is None:
            break
        source = source[: line.start()] + line[0].replace("\t", " ") + source[line.end() :]
    return source


def _tab_line_that_stops(source: str) -> re.Match[str] | None:
    try:
        for _ in _parse(source):
            pass
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark
        if mark and _STOPS_AT_TAB.search(error.problem or ""):
            return _TAB_LINE.match(source, mark.index - mark.column)
    return None


def _root_errors(roots: list[Node], file: str) -> list[Diagnostic]:
    """Return the errors in the number and kind of documents: one mapping, and at most one more."""
    if not roots or (len(roots) == 1 and roots[0].value is None):
        hint = "start the file with `protocolVersion: 2`"
        return [Diagnostic(code="E111", message="the file is empty", location=Location(file=file), hint=hint)]
    diagnostics: list[Diagnostic] = []
    if roots[0].pairs is None:
        message = f"expected a mapping at the top of the file, found {kind_of(roots[0].value)}"
        diagnostics.append(
            Diagnostic(
                code="E112", message=message, location=_location(roots[0], file), hint="write `key: value` lines"
            )
        )
    second = roots[1:2]
    if second and (second[0].pairs is None or _KEYS_OF_JOBS & second[0].pairs.keys()):
        message = "the second document (after `---`) is not a mapping of secrets"
        hint = "remove the `---`, or write one job per file"
        diagnostics.append(Diagnostic(code="E113", message=message, location=_location(second[0], file), hint=hint))
    if len(roots) > 2:
        message = f"the file has {len(roots)} documents; the most are two: a job and its secrets"
        hint = "write one job per file"
        diagnostics.append(Diagnostic(code="E113", message=message, location=_location(roots[2], file), hint=hint))
    return diagnostics


def _secrets_warning(root: Node, file: str) -> Diagnostic:
    message = "the second document of the file is read as the job's secrets"
    hint = "keep secrets in a separate file, out of version control"
    return Diagnostic(code="W101", message=message, location=_location(root, file), hint=hint)


def _location(node: Node, file: str) -> Location:
    return Location(file=file, line=node.line, column=node.column)


def kind_of(value: Value) -> str:
    """Return the kind of a value for messages."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else "a single value"
