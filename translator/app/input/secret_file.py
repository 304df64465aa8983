"""Secrets from `--secrets FILE`, a YAML mapping that nobody else can read."""

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
