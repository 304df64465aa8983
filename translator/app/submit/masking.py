"""The job file as it is kept: the same text, without the secrets in it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import yaml

from ...errors import ProtocolError
from ...reading.read import read, yaml_events
from ..input.secret_file import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...reading.document import Document, Path, Value

MASK = '"******"'
"""As OpenPAI shows the secrets of a job."""
_COMMENT_BEHIND = re.compile(r"([ \t,\]}]*)[ \t]#[^\r\n]*")
_SMALL = 256
"""Up to here Python has one object for a number, wherever it stands."""
_WRITTEN_ANEW = "# The job, written anew without its secrets: as it stood, they could not be told from the rest.\n"


def kept_text(text: bytes, document: Document) -> bytes:
    """Return the text of a job file with its secrets and registry credentials masked, and the comments among them."""
    if not document.secrets and not any(value for _, value in _hidden(document)):
        return text
    source = text.decode().removeprefix("\ufeff")
    events: list[yaml.Event] = []
    for event in yaml_events(source):
        if isinstance(event, yaml.DocumentStartEvent) and events[1:] and event.start_mark:
            source = source[: event.start_mark.index]
            break
        events.append(event)
    if any(getattr(event, "anchor", None) for event in events):  # an alias leads from secrets to anywhere
        return _written_anew(document).encode()
    parts, position = [], 0
    for path, key, end in _values(events):
        if _is_hidden(path) and document.at(path):
            # The end of a block is where the next thing begins, which then needs a line of its own.
            begun = source[end.index - end.column : end.index]
            parts += [source[position : key.index], f": {MASK}" if begun.strip() else f": {MASK}\n{begun}"]
            comment = _COMMENT_BEHIND.match(source, end.index) if begun.strip() else None
            parts.append(comment[1] if comment else "")
            position = comment.end() if comment else end.index
    kept = "".join([*parts, source[position:]]).rstrip("\n") + "\n"
    return (kept if _is_as_meant(kept, document) else _written_anew(document)).encode()


def _is_as_meant(kept: str, document: Document) -> bool:
    """Tell whether the text says what the job file does, but for the secrets; a mark of YAML may be of another kind."""
    try:
        return read(kept, file=document.file).root == _masked(document.root, (), set())
    except ProtocolError:
        return False


def _is_hidden(path: Path) -> bool:
    """Tell whether a path is that of secrets. Source: PAI protocol v2, secrets and auth."""
    return path == ("secrets",) or (len(path) == 3 and path[0] == "prerequisites" and path[2] == "auth")


def _hidden(document: Document) -> Iterator[tuple[Path, Value]]:
    yield ("secrets",), document.at(("secrets",))
    for where, value in document.mappings(("prerequisites",)):
        yield (*where, "auth"), value.get("auth")


def hidden_texts(document: Document) -> set[str]:
    """Return the texts of the secrets and the passwords of registries in a job file."""
    auths = (value.get("auth") for _, value in document.mappings(("prerequisites",)))
    passwords = [auth.get("password") for auth in auths if isinstance(auth, dict)]
    return {text for value in (document.at(("secrets",)), document.secrets, passwords) for text in texts_of(value)}


def _values(events: Iterable[yaml.Event]) -> Iterator[tuple[Path, Any, Any]]:
    """Yield each value of mappings: its path, and the marks where its key and where it itself end."""
    path: list[str | int] = []
    open_keys: list[Any] = []
    for event in events:
        starts, ends = isinstance(event, yaml.CollectionStartEvent), isinstance(event, yaml.CollectionEndEvent)
        if ends:
            open_keys.pop()
            path.pop()
        elif not (starts or isinstance(event, yaml.ScalarEvent)):
            continue
        elif open_keys and open_keys[-1] is _KEY_NEXT:
            path[-1], open_keys[-1] = str(getattr(event, "value", "")), event.end_mark
            if not starts:
                continue
        if starts:
            mapping = isinstance(event, yaml.MappingStartEvent)
            path.append("" if mapping else 0)
            open_keys.append(_KEY_NEXT if mapping else None)
        elif open_keys and open_keys[-1] is not None:
            yield tuple(path), open_keys[-1], event.end_mark
            open_keys[-1] = _KEY_NEXT
        elif open_keys:
            path[-1] = int(path[-1]) + 1


_KEY_NEXT = object()
"""Stands for a mapping whose next node is a key."""


def _written_anew(document: Document) -> str:
    """Return the job as JSON, which YAML has in it; a secret is masked wherever an alias brings the same value."""
    secrets = {id(leaf) for _, value in _hidden(document) for leaf in _leaves(value)}
    masked = _masked(document.root, (), secrets)
    return _WRITTEN_ANEW + json.dumps(masked, indent=2, ensure_ascii=False) + "\n"


def _leaves(value: Value) -> Iterator[Value]:
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    elif isinstance(value, str) or (isinstance(value, (int, float)) and abs(value) > _SMALL):
        yield value


def _masked(value: Value, path: Path, secrets: set[int]) -> Value:
    if (_is_hidden(path) and value) or id(value) in secrets:
        return MASK.strip('"')
    if isinstance(value, dict):
        return {key: _masked(inner, (*path, key), secrets) for key, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, (*path, number), secrets) for number, inner in enumerate(value)]
    return value
