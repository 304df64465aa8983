"""Words of the command line that take the place of values in the job file: parameters, secrets and the job's name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import Diagnostic
from ...reading.document import path_text
from ...reading.scalars import plain_value
from ...validation.diagnostics import near_hint
from ..versions import NAME_PATTERN_V1, NAME_V1, is_v1
from .schema import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...reading.document import Document, Value


def apply_overrides(
    document: Document, *, parameters: Mapping[str, str], name: str | None, secrets: Mapping[str, Value]
) -> tuple[Document, tuple[Diagnostic, ...]]:
    """Return the document with these values in place of its own, and what is wrong with them.

    A parameter that the job does not have is a diagnostic: its name is a slip. The file's second document holds
    secrets, too; `secrets` go before both.
    """
    diagnostics: list[Diagnostic] = []
    own = document.mapping(("parameters",))
    for key in parameters:
        if key not in own:
            path = path_text(("parameters", key))
            hint = near_hint(key, own) or ("" if own else "its file has no `parameters`")
            message = f"the job has no parameter `{key}`"
            diagnostics.append(Diagnostic(code="E309", message=message, path=path, hint=hint))
    v1 = is_v1(document)
    pattern, form = (NAME_PATTERN_V1, NAME_V1) if v1 else (r"[a-zA-Z0-9_-]{1,255}", NAME)
    if name is not None and not re.fullmatch(pattern, name, re.ASCII):
        path = f"$.{'jobName' if v1 else 'name'}"
        diagnostics.append(Diagnostic(code="E309", message=f"the job's name {name!r}: expected {form}", path=path))
    root = dict(document.mapping(()))
    if parameters and not diagnostics:
        root["parameters"] = {**own, **{key: value_of(text) for key, text in parameters.items()}}
    if name is not None and not diagnostics:
        root["jobName" if v1 else "name"] = name
    given = {**(document.secrets or {}), **secrets}
    if given and v1:
        diagnostics.append(
            Diagnostic(code="E309", message="there are secrets for a job of protocol v1, which can have none")
        )
    elif given:
        root["secrets"] = {**document.mapping(("secrets",)), **given}
    return replace(document, root=root), tuple(diagnostics)


def value_of(text: str) -> Value:
    """Return the value of a word as a YAML file would read it there; an empty word is empty text.

    Quotes around all of it make it text: `'010'` is not 8.

    >>> value_of("1e-3"), value_of("'1e-3'"), value_of("[1")
    (0.001, '1e-3', '[1')
    """
    if not text:
        return ""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return plain_value(text)
