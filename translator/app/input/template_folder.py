"""Where compiled templates are kept: below the user's cache folder. They are code, so no other user may write there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..ownership import OTHERS_WRITE


def template_folder() -> Path | None:
    """Return the folder for compiled templates, made if it is missing; None where there is none of the user's alone."""
    folder = _user_cache()
    return None if folder is None else Path(folder)


def _user_cache() -> str | None:
    """Return the user's cache folder for this program, made if it is missing; None where it is not the user's alone.

    What is kept there is code. The folder above must be the user's too: its owner could put another one in place. That
    is so where root works with the home of somebody else.
    """
    above = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")  # noqa: PTH111
    if not os.path.isabs(above):  # noqa: PTH117
        return None
    folder = f"{above}/paislurm"
    for each in (above, folder):
        with suppress(OSError):
            if not os.path.exists(each) and _is_own(os.path.dirname(each)):  # noqa: PTH110, PTH120
                os.mkdir(each, 0o700)  # noqa: PTH102
    return folder if _is_own(above) and _is_own(folder) else None


def _is_own(folder: str) -> bool:
    """Tell whether a folder is the caller's, and nobody else can write to it."""
    try:
        status = os.stat(folder)  # noqa: PTH116
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not status.st_mode & OTHERS_WRITE
