"""The secrets of a job: its file of them, the texts in its job file, and the masked copy without them."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING, Any

import yaml
from msgspec.structs import replace

from ...errors import Diagnostic, Location, ProtocolError
from ...reading.decode import MAX_FILE
from ...reading.read import read, yaml_events
from ...validation.diagnostic_codes import CODES
from ..paths import hint_at_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ...reading.document import Document, Path, Value


_MODES = (0o600, 0o400)


def read_secrets(file: str) -> Mapping[str, Value]:
    """Return the secrets of a file. Raises ProtocolError if it is invalid or others can read it."""
    try:
        with open(file, "rb", opener=_opener) as stream:
            status = os.fstat(stream.fileno())
            text = stream.read(MAX_FILE + 1) if stat.S_ISREG(status.st_mode) else b""
    except OSError as error:
        message = f"cannot read the secrets: {error.strerror or error}"
        raise _refusal(file, message, hint=hint_at_files(file, error)) from None
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISREG(status.st_mode):
        raise _refusal(file, "the path of the secrets is not a file")
    if status.st_uid != os.geteuid():
        raise _refusal(file, "another user owns the file of secrets")
    if mode not in _MODES:
        message = f"the file of secrets has mode {mode:04o}, but only you may have access"
        raise _refusal(file, message, hint=f"chmod 600 {file}")
    try:
        document = read(text, file=file)
    except ProtocolError as error:
        # Messages and lines may quote a secret.
        raise ProtocolError(
            replace(
                diagnostic,
                message=CODES[diagnostic.code],
                hint="",
                location=replace(diagnostic.location, source="") if diagnostic.location else None,
            )
            for diagnostic in error.diagnostics
        ) from None
    if document.secrets is not None:
        raise _refusal(file, "the file of secrets has more than one document; remove `---`")
    return document.mapping(())


def secret_texts(file: str | None) -> set[str]:
    """Return the secrets in a file as texts; empty without a file. Raises ProtocolError like `read_secrets`."""
    return set(texts_of(read_secrets(file))) if file else set()


def texts_of(value: Value) -> Iterator[str]:
    """Yield each text in a value, and each number as text."""
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_of(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _opener(path: str, flags: int) -> int:
    """Open without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _refusal(file: str, message: str, hint: str = "") -> ProtocolError:
    return ProtocolError(Diagnostic(code="E115", message=message, location=Location(file=file), hint=hint))


MASK = '"******"'
"""OpenPAI's replacement for secrets."""
_COMMENT_BEHIND = re.compile(r"([ \t,\]}]*)[ \t]#[^\r\n]*")
_SMALL = 256
"""The largest number for which Python shares one object."""
_WRITTEN_ANEW = "# This job was rewritten without its secrets, because they could not be masked in the original text.\n"


def kept_text(text: bytes, document: Document) -> bytes:
    """Return the text of a job file with masked secrets and registry credentials, without the comments among them."""
    if not document.secrets and not any(value for _, value in _hidden(document)):
        return text
    source = text.decode().removeprefix("\ufeff")
    events: list[yaml.Event] = []
    for event in yaml_events(source):
        if isinstance(event, yaml.DocumentStartEvent) and events[1:] and event.start_mark:
            source = source[: event.start_mark.index]
            break
        events.append(event)
    if any(getattr(event, "anchor", None) for event in events):  # an alias can repeat a secret elsewhere
        return _written_anew(document).encode()
    parts, position = [], 0
    for path, key, end in _values(events):
        if _is_hidden(path) and document.at(path):
            # A block ends where the next node starts, which needs a new line then.
            begun = source[end.index - end.column : end.index]
            parts += [source[position : key.index], f": {MASK}" if begun.strip() else f": {MASK}\n{begun}"]
            comment = _COMMENT_BEHIND.match(source, end.index) if begun.strip() else None
            parts.append(comment[1] if comment else "")
            position = comment.end() if comment else end.index
    kept = "".join([*parts, source[position:]]).rstrip("\n") + "\n"
    return (kept if _is_as_meant(kept, document) else _written_anew(document)).encode()


def _is_as_meant(kept: str, document: Document) -> bool:
    """Return whether the text equals the job file except for the secrets; YAML tags may differ."""
    try:
        return read(kept, file=document.file).root == _masked(document.root, (), set())
    except ProtocolError:
        return False


def _is_hidden(path: Path) -> bool:
    """Return whether a path contains secrets. Source: PAI protocol v2, secrets and auth."""
    return path == ("secrets",) or (len(path) == 3 and path[0] == "prerequisites" and path[2] == "auth")


def _hidden(document: Document) -> Iterator[tuple[Path, Value]]:
    yield ("secrets",), document.at(("secrets",))
    for where, value in document.mappings(("prerequisites",)):
        yield (*where, "auth"), value.get("auth")


def hidden_texts(document: Document) -> set[str]:
    """Return the secrets and the registry passwords in a job file."""
    auths = (value.get("auth") for _, value in document.mappings(("prerequisites",)))
    passwords = [auth.get("password") for auth in auths if isinstance(auth, dict)]
    return {text for value in (document.at(("secrets",)), document.secrets, passwords) for text in texts_of(value)}


def _values(events: Iterable[yaml.Event]) -> Iterator[tuple[Path, Any, Any]]:
    """Yield each value of mappings: its path, and the end marks of its key and of the value."""
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
"""Marks a mapping whose next node is a key."""


def _written_anew(document: Document) -> str:
    """Return the job as JSON, which is valid YAML; a secret is masked at every alias."""
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
