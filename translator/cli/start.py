"""The entry point of the program: settings that must precede the first import."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from types import ModuleType
from typing import NoReturn

OTHERS_WRITE = 0o022
PLUGIN_LOADER = "pydantic.plugin._loader"


def run() -> NoReturn:
    """Import the commands and run one. Ctrl-C during imports ends the process at once, without a message."""
    gc.disable()  # see `run` of the commands
    # Plugins of pydantic in the user's Python cost time and run code that is not ours: do not even look for them.
    sys.modules[PLUGIN_LOADER] = ModuleType(PLUGIN_LOADER)
    vars(sys.modules[PLUGIN_LOADER])["get_plugins"] = tuple
    interrupts = signal.getsignal(signal.SIGINT)
    if interrupts is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    keep_compiled_modules_private()
    from .main import run as run_command

    if interrupts is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupts)
    run_command()


def keep_compiled_modules_private() -> None:
    """Write compiled modules only to folders that others cannot write to: Python creates them by the umask."""
    mask = os.umask(0o077)
    os.umask(mask)
    if mask & OTHERS_WRITE == OTHERS_WRITE:
        return
    sys.dont_write_bytecode = True
    cached = (getattr(module, "__cached__", None) for module in list(sys.modules.values()))
    for folder in {os.path.dirname(path) for path in cached if path}:  # noqa: PTH120 - pathlib is not loaded yet
        with suppress(OSError):
            status = os.stat(folder)  # noqa: PTH116
            if status.st_uid == os.geteuid() and status.st_mode & OTHERS_WRITE:
                os.chmod(folder, status.st_mode & 0o7777 & ~OTHERS_WRITE)  # noqa: PTH101


if __name__ == "__main__":
    run()
