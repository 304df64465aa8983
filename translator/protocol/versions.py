"""Recognise job files of other protocols than version 2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import Fault, Place

if TYPE_CHECKING:
    from .document import Document

_JSON_START = re.compile(r"\s*(?:(?://[^\n]*|/\*.*?\*/)\s*)*\{", re.DOTALL)
_V1_KEY = re.compile(r'"(?:jobName|taskRoles)"\s*:')


def looks_like_v1(text: str) -> bool:
    """Tell a job file of protocol v1 by its text: JSON, perhaps with comments, of a job or task roles."""
    return bool(_JSON_START.match(text) and _V1_KEY.search(text))


def v1_fault(file: str) -> Fault:
    """Return the fault for a job file of protocol v1."""
    return Fault(
        code="E121",
        message="this is a job file of protocol v1 (JSON), which this version cannot read yet",
        place=Place(file=file),
        hint="write it as protocol v2 (YAML, `protocolVersion: 2`)",
    )


def other_protocol(document: Document) -> Fault | None:
    """Return the fault for a document of another protocol, None for one that is or wants to be version 2."""
    root = document.root
    if not isinstance(root, Mapping) or "protocolVersion" in root:
        return None
    if "jobName" in root or isinstance(root.get("taskRoles"), list):
        return v1_fault(document.file)
    draft = next((key for key in ("protocol_version", "tasks") if key in root), None)
    if draft and "taskRoles" not in root:
        return Fault(
            code="E122",
            message=f"`{draft}` belongs to a draft of the job protocol that OpenPAI gave up",
            place=document.place((draft,), key=True),
            path=f"$.{draft}",
            hint="write the job as protocol v2: `protocolVersion: 2`, `prerequisites`, `taskRoles`",
        )
    return None
