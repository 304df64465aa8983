"""Tell the protocols apart by what a file says, not by what it is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import Diagnostic

if TYPE_CHECKING:
    from ..reading.document import Document

NAME_V1 = "a name of at most 255 letters (a-z, A-Z), digits, `.`, `_`, `~` and `-`"
NAME_PATTERN_V1 = r"[A-Za-z0-9._~-]{1,255}"
"""What jobs and task roles of protocol v1 may be called: here, because most files need no more of it."""


def is_v1(document: Document) -> bool:
    """Tell a job of protocol v1, however it is written. Source: PAI web portal: what has no `protocolVersion`."""
    root = document.root
    if not isinstance(root, Mapping) or "protocolVersion" in root:
        return False
    return "jobName" in root or isinstance(root.get("taskRoles"), list)


def draft_error(document: Document) -> Diagnostic | None:
    """Return the diagnostic for a document of the draft between the protocols, None for any other."""
    root = document.root
    if not isinstance(root, Mapping) or "protocolVersion" in root or "taskRoles" in root:
        return None
    draft = next((key for key in ("protocol_version", "tasks") if key in root), None)
    if draft is None:
        return None
    return Diagnostic(
        code="E122",
        message=f"`{draft}` belongs to a draft of the job protocol that OpenPAI gave up",
        location=document.location((draft,), key=True),
        path=f"$.{draft}",
        hint="write the job as protocol v2: `protocolVersion: 2`, `prerequisites`, `taskRoles`",
    )
