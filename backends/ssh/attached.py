"""Join the streams of this process to a channel of paramiko: a command there, with or without a terminal."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK = 1 << 15
BROKEN = 255


def run_attached(channel: Any, line: str, *, terminal: bool) -> int:
    """Run a line with our input, output and errors; return its exit status, 255 where the connection broke."""
    if terminal:
        size = shutil.get_terminal_size()
        channel.get_pty(term=os.environ.get("TERM", "vt100"), width=size.columns, height=size.lines)
    channel.exec_command(line)
    with _raw_terminal(channel) if terminal else nullcontext():
        threading.Thread(target=_send, args=(channel,), daemon=True).start()
        of_errors = threading.Thread(target=_copy, args=(channel.recv_stderr, 2), daemon=True)
        of_errors.start()
        _copy(channel.recv, 1)
        of_errors.join()
    status: int = channel.recv_exit_status()
    return BROKEN if status < 0 else status


def _copy(receive: Callable[[int], bytes], descriptor: int) -> None:
    with suppress(OSError, EOFError):
        while piece := receive(CHUNK):
            while piece:
                piece = piece[os.write(descriptor, piece) :]


def _send(channel: Any) -> None:
    with suppress(OSError, EOFError):
        while piece := os.read(0, CHUNK):
            channel.sendall(piece)
        channel.shutdown_write()


@contextmanager
def _raw_terminal(channel: Any) -> Iterator[None]:
    """Give every key to the other side, and tell it the size of the window whenever that changes."""
    import termios
    import tty

    def resize(*_: object) -> None:
        size = shutil.get_terminal_size()
        with suppress(Exception):
            channel.resize_pty(width=size.columns, height=size.lines)

    before = termios.tcgetattr(sys.stdin)
    handler = signal.signal(signal.SIGWINCH, resize)
    # What was typed meanwhile is kept.
    tty.setraw(sys.stdin, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, handler)
