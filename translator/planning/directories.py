"""The paths that a job of protocol v1 hands to its tasks, with the names in them resolved.

Source: PAI protocol v1, dataDir, outputDir and codeDir; PAI rest-server, which resolved these names and no others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..errors import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..job import Job
    from ..site.profile import Site

_FILE_SYSTEM = "$PAI_DEFAULT_FS_URI"
DEFAULT_OUTPUT = f"{_FILE_SYSTEM}/Output/$PAI_USER_NAME/$PAI_JOB_NAME"
"""Source: PAI rest-server, outputDir of protocol v1; its documents leave the user out."""
_JOB = re.compile(r"\$PAI_JOB_NAME(?!\w)", re.ASCII)
_USER = re.compile(r"\$PAI_USER_?NAME(?!\w)", re.ASCII)

Paths = tuple[tuple[str, tuple[str, ...]], ...]


def path_variables(job: Job, site: Site) -> tuple[Paths, tuple[Diagnostic, ...]]:
    """Return the variables with the parts of their values, between which stands the user's name; and warnings."""
    if job.directories is None:
        return (), ()
    texts = {"data": job.directories.data, "output": job.directories.output, "code": job.directories.code}
    diagnostics = _nowhere(texts, job.paths.directories) if not site.default_file_system else ()
    texts["output"] = texts["output"] or DEFAULT_OUTPUT
    return tuple((f"PAI_{kind.upper()}_DIR", parts(text, job, site)) for kind, text in texts.items()), diagnostics


def _nowhere(texts: Mapping[str, str], table: str) -> tuple[Diagnostic, ...]:
    """Warn of paths on a file system that the site does not name."""
    keys = [f"{kind}Dir" for kind, text in texts.items() if _FILE_SYSTEM in text]
    if not keys:
        return ()
    message = f"`{_FILE_SYSTEM}` in {', '.join(keys)} is empty: the site names no default file system"
    hint = "write `defaultFileSystem: hdfs://host:port` or the path of a folder into site.yaml, or give whole paths"
    return (Diagnostic(code="W422", message=message, path=f"{table}.{keys[0]}", hint=hint),)


def parts(text: str, job: Job, site: Site) -> tuple[str, ...]:
    """Return a path in parts, between which stands the user's name. Only the first file system is resolved."""
    text = text.replace(_FILE_SYSTEM, site.default_file_system, 1)
    return tuple(_USER.split(_JOB.sub(lambda _: job.name, text)))
