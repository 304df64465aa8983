"""Where compiled templates are kept: below the user's cache folder. They are code, so no other user may write there."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ..ownership import is_private

if TYPE_CHECKING:
    from pathlib import Path


def template_folder() -> Path | None:
    """Return the folder for compiled templates, made if it is missing; None where there is none of the user's alone.

    The folder above must be the user's too: its owner could put another one in place. That is so where root works with
    the home of somebody else.
    """
    from platformdirs import user_cache_path

    folder = user_cache_path("paislurm")
    if not folder.is_absolute():
        return None
    for each in (folder.parent, folder):
        with suppress(OSError):
            if not each.exists() and is_private([each.parent]):
                each.mkdir(mode=0o700)
    return folder if is_private([folder.parent, folder]) else None
