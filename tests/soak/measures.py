"""What a soak measures: real and simulated files, and the objects that something keeps."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING

from tests.simulation.files import Client

if TYPE_CHECKING:
    from tests.simulation.files import Server
    from tests.simulation.nodes import Opened
    from tests.simulation.world import World


def usage(folder: Path) -> tuple[int, int]:
    """Return the inodes below a folder and their bytes; entries may vanish meanwhile."""
    inodes = size = 0
    for parent, folders, files in os.walk(folder):
        inodes += len(folders) + len(files)
        for name in files:
            with suppress(FileNotFoundError):
                size += Path(parent, name).lstat().st_size
    return inodes, size


class _Opened(dict[int, "Opened"]):
    """Open files, each with the process that opened it."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def __setitem__(self, descriptor: int, opened: Opened) -> None:
        opened.process = self._world.current
        super().__setitem__(descriptor, opened)


class OwnedClient(Client):
    """A client that knows who opened what: the system closes the files of a process that was killed."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._opened = _Opened(server.world)

    def opened(self) -> int:
        """Return the number of files that processes have open."""
        return sum(each.process is not None and not each.process.dead for each in self._opened.values())


def held(thing: object) -> tuple[int, int]:
    """Return the bytes and the number of the objects that one refers to, without code and the simulator."""
    seen, left, size = {id(thing)}, [thing], 0
    while left:
        each = left.pop()
        size += sys.getsizeof(each)
        below = each.__closure__ or () if isinstance(each, FunctionType) else gc.get_referents(each)
        for other in below:
            is_code = isinstance(other, (type, ModuleType, CodeType)) or type(other).__module__.startswith("tests.")
            if id(other) not in seen and not is_code:
                seen.add(id(other))
                left.append(other)
    return size, len(seen)
