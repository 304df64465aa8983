"""Tell the protocols apart by what a file says, not by what it is called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import Fault
from .json_events import after_blanks

if TYPE_CHECKING:
    from .document import Document

NAME_V1 = "a name of at most 255 letters (a-z, A-Z), digits, `.`, `_`, `~` and `-`"
NAME_PATTERN_V1 = r"[A-Za-z0-9._~-]{1,255}"
"""What jobs and task roles of protocol v1 may be called: here, because most files need no more of it."""
_STRING_OR_COMMENT = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|(?:\s+|//[^\n]*|/\*.*?(?:\*/|\Z)){1,999}', re.DOTALL)
"""A text without its end goes to the end of the line: looking further for each quote in it would take for ever."""
_V1_KEY = re.compile(r'"jobName"\s*:|"taskRoles"\s*:\s*\[')
_V2_KEY = re.compile(r'"protocolVersion"\s*:')


def looks_like_v1(text: str) -> bool:
    """Tell a job file of protocol v1 by its text: JSON, perhaps with comments, of a job or a list of task roles."""
    if not text.startswith("{", after_blanks(text)):
        return False
    bare = _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
    return bool(_V1_KEY.search(bare) and not _V2_KEY.search(bare))


def is_v1(document: Document) -> bool:
    """Tell a job of protocol v1, however it is written. Source: PAI web portal: what has no `protocolVersion`."""
    root = document.root
    if not isinstance(root, Mapping) or "protocolVersion" in root:
        return False
    return "jobName" in root or isinstance(root.get("taskRoles"), list)


def draft_fault(document: Document) -> Fault | None:
    """Return the fault for a document of the draft between the protocols, None for any other."""
    root = document.root
    if not isinstance(root, Mapping) or "protocolVersion" in root or "taskRoles" in root:
        return None
    draft = next((key for key in ("protocol_version", "tasks") if key in root), None)
    if draft is None:
        return None
    return Fault(
        code="E122",
        message=f"`{draft}` belongs to a draft of the job protocol that OpenPAI gave up",
        place=document.place((draft,), key=True),
        path=f"$.{draft}",
        hint="write the job as protocol v2: `protocolVersion: 2`, `prerequisites`, `taskRoles`",
    )
