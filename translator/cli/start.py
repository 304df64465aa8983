"""Be the program: what must be so before the first of its modules is loaded."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

OTHERS_WRITE = 0o022


def run() -> NoReturn:
    """Load the commands and run one. Ctrl-C while modules load ends the process at once and in silence."""
    gc.disable()  # see `run` of the commands
    interrupts = signal.getsignal(signal.SIGINT)
    if interrupts is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    keep_compiled_modules_private()
    from .main import run as run_command

    if interrupts is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupts)
    run_command()


def keep_compiled_modules_private() -> None:
    """Have no compiled module in a folder that others can write to: Python makes these by the umask."""
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
