"""Where Python's compiled modules are kept: beside the modules, or where they cannot be there, in the user's own cache.

That is so where the program was installed by somebody else who did not have it compiled, and where
PYTHONDONTWRITEBYTECODE is set: Python would compile the modules of each command anew, which takes longer than most
commands do. Little is imported here, because it is not kept yet.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType

OTHERS_WRITE = 0o022


def user_cache() -> str | None:
    """Return the user's cache folder for this program, made if it is missing; None where it is not the user's alone.

    What is kept there is code. The folder above must be the user's too: its owner could put another one in place. That
    is so where root works with the home of somebody else.
    """
    above = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")  # noqa: PTH111
    if not os.path.isabs(above):  # noqa: PTH117 - pathlib takes as long to load as all of this
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


def keep_elsewhere(loaded: ModuleSpec | None) -> None:
    """Keep modules in the user's cache that are not compiled, if one that has been loaded could not be kept."""
    if loaded is None or loaded.cached is None or os.path.exists(loaded.cached):  # noqa: PTH110
        return
    cache = user_cache()
    if cache is not None and sys.pycache_prefix is None:
        _install(f"{cache}/modules")


def _install(folder: str) -> None:
    """Have modules loaded by what looks into the folder as well, and writes there."""
    from importlib import machinery
    from importlib.util import cache_from_source

    class Loader(machinery.SourceFileLoader):
        """Load a module from what is compiled beside it, else from the folder, where it is put if need be."""

        def get_code(self, fullname: str) -> CodeType | None:
            if os.path.exists(cache_from_source(self.path)):  # noqa: PTH110
                return super().get_code(fullname)
            before = sys.pycache_prefix, sys.dont_write_bytecode
            sys.pycache_prefix, sys.dont_write_bytecode = folder, False
            try:
                return super().get_code(fullname)
            finally:
                sys.pycache_prefix, sys.dont_write_bytecode = before

    hook = machinery.FileFinder.path_hook(
        (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
        (Loader, machinery.SOURCE_SUFFIXES),
        (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
    )
    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()
