"""Read files of a job only as its owner's: a link to what its reader alone may read would show it to others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..jobs.logs.tail import open_log

if TYPE_CHECKING:
    from pathlib import Path

    from ...state.job_folder import JobFolder


def read_owned(folder: JobFolder, path: Path, limit: int) -> bytes:
    """Return what a file of a job holds; nothing where it is missing, larger than `limit`, or another user's."""
    try:
        with os.fdopen(open_log(path, folder.path.stat().st_uid), "rb") as file:
            data = file.read(limit + 1)
    except OSError:
        return b""
    return data if len(data) <= limit else b""
