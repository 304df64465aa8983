"""The job file as it is kept: the same text, without the secrets in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..protocol.document import Document, Path

MASK = '"******"'
"""As OpenPAI shows the secrets of a job."""


def kept_text(text: bytes, document: Document) -> bytes:
    """Return the text of a job file with its secrets and registry credentials masked."""
    paths = _secret_paths(document)
    if not paths and document.secrets is None:
        return text
    lines: list[str] = list(document.lines)
    if document.secrets is not None:
        del lines[document.spans[()].last_line :]
    for path in sorted(paths, key=lambda path: document.spans[path].line, reverse=True):
        span = document.spans[path]
        lines[span.line - 1 : span.last_line] = [lines[span.line - 1][: span.column - 1] + MASK]
    return ("\n".join(lines).rstrip("\n") + "\n").encode()


def _secret_paths(document: Document) -> list[Path]:
    """Return where secrets stand, each with all that is below it. Source: PAI protocol v2, secrets, auth."""
    auths: list[Path] = [
        (*where, "auth") for where, value in document.mappings(("prerequisites",)) if value.get("auth")
    ]
    secrets: list[Path] = [("secrets",)] if document.at(("secrets",)) else []
    return [path for path in (*secrets, *auths) if path in document.spans]
