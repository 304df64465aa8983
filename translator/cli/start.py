"""Be the program: what must be so before the first of its modules is loaded."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from .compiled_modules import OTHERS_WRITE, keep_elsewhere


def run() -> NoReturn:
    """Load the commands and run one. Ctrl-C while modules load ends the process at once and in silence."""
    gc.disable()  # see `run` of the commands
    interrupts = signal.getsignal(signal.SIGINT)
    if interrupts is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    keep_compiled_modules_private()
    leave_types_of_schemas_out()
    keep_elsewhere(sys.modules["paislurm"].__spec__)
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


def leave_types_of_schemas_out() -> None:
    """Have pydantic's core load without its module of types, which takes a tenth of a short command's time.

    The core hands on a few of its names, for annotations alone. Whoever else wants something of the module gets it.
    Source: `pydantic_core/__init__.py`.
    """
    name = "pydantic_core.core_schema"
    stand_in = type(sys)(name)

    def find(wanted: str) -> object:
        if not hasattr(sys.modules["pydantic_core"], "__all__"):  # it is loading
            return object
        from importlib import import_module

        if sys.modules[name] is stand_in:
            del sys.modules[name]
        return getattr(import_module(name), wanted)

    vars(stand_in)["__getattr__"] = find
    sys.modules.setdefault(name, stand_in)


if __name__ == "__main__":
    run()
