"""A window of tmux, in which a program has a terminal as people have it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Tmux:
    """A window of a tmux of its own; when its program has ended, it says `left with STATUS`."""

    def __init__(self, socket: Path, width: int, height: int, *argv: str) -> None:
        self._tmux = ("tmux", "-u", "-S", str(socket), "-f", "/dev/null")
        size = ("-x", str(width), "-y", str(height))
        self._run("new-session", "-d", "-s", "w", *size, f"{shlex.join(argv)}; echo left with $?; exec sleep 600")

    def _run(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True, timeout=60).stdout

    def press(self, *keys: str) -> None:
        """Press keys by their names, or type text."""
        self._run("send-keys", "-t", "w", *keys)

    def resize(self, width: int, height: int) -> None:
        """Give the window another size."""
        self._run("resize-window", "-t", "w", "-x", str(width), "-y", str(height))

    def pane(self) -> list[str]:
        """Return what is to be seen."""
        return self._run("capture-pane", "-p", "-t", "w").splitlines()

    def see(self, words: str) -> list[str]:
        """Wait until words are to be seen, and return all that is."""
        wait_until(lambda: any(words in line for line in self.pane()), f"{words!r} to be seen")
        return self.pane()

    def close(self) -> None:
        """End it."""
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True, timeout=60)


def windows(folder: Path) -> Iterator[Callable[..., Tmux]]:
    """Yield what opens a window of a width and a height for a program, with a socket in the folder; close them all."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    opened: list[Tmux] = []

    def window(width: int, height: int, *argv: str) -> Tmux:
        opened.append(Tmux(folder / f"tmux{len(opened)}", width, height, *argv))
        return opened[-1]

    yield window
    for each in opened:
        each.close()
