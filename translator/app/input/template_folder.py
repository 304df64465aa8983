"""Where compiled templates are kept: below the user's cache folder. They are code, so no other user may write there."""

from __future__ import annotations

from pathlib import Path

from ...cli.compiled_modules import user_cache


def template_folder() -> Path | None:
    """Return the folder for compiled templates, made if it is missing; None where there is none of the user's alone."""
    folder = user_cache()
    return None if folder is None else Path(folder)
