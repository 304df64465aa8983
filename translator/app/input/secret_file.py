"""Secrets beside the job file: `--secrets FILE`, a YAML mapping that nobody else can read."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import Diagnostic, Location, ProtocolError
from ...reading.decode import MAX_FILE
from ...reading.read import read
from ...validation.diagnostic_codes import CODES
from .near_files import hint_at_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...reading.document import Value

_MODES = (0o600, 0o400)


def read_secrets(file: str) -> Mapping[str, Value]:
    """Return the secrets of a file; ProtocolError if it is none, or open to others."""
    try:
        with open(file, "rb", opener=_opener) as stream:
            status = os.fstat(stream.fileno())
            text = stream.read(MAX_FILE + 1) if stat.S_ISREG(status.st_mode) else b""
    except OSError as error:
        message = f"the secrets cannot be read: {error.strerror or error}"
        raise _refusal(file, message, hint=hint_at_files(file, error)) from None
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISREG(status.st_mode):
        raise _refusal(file, "the secrets are not in a file")
    if status.st_uid != os.geteuid():
        raise _refusal(file, "the file of secrets is another user's")
    if mode not in _MODES:
        message = f"the file of secrets has the mode {mode:04o}, where only you may read it"
        raise _refusal(file, message, hint=f"chmod 600 {file}")
    try:
        document = read(text, file=file)
    except ProtocolError as error:
        # What is wrong with a value may quote it, and so does its line.
        raise ProtocolError(
            replace(diagnostic, message=CODES[diagnostic.code], hint="", location=_bare(diagnostic.location))
            for diagnostic in error.diagnostics
        ) from None
    if document.secrets is not None:
        raise _refusal(file, "a file of secrets is one document, without `---`")
    return document.mapping(())


def secret_texts(file: str | None) -> set[str]:
    """Return the texts of the secrets in a file, none for no file; ProtocolError as `read_secrets`."""
    return set(texts_of(read_secrets(file))) if file else set()


def texts_of(value: Value) -> Iterator[str]:
    """Yield each text in a value, and each number as text."""
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_of(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _bare(location: Location | None) -> Location | None:
    """Return a place without the text of its line."""
    return replace(location, source="") if location else None


def _opener(path: str, flags: int) -> int:
    """Open without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _refusal(file: str, message: str, hint: str = "") -> ProtocolError:
    return ProtocolError(Diagnostic(code="E115", message=message, location=Location(file=file), hint=hint))
