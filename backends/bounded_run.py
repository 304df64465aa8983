"""Run a program to its end and limit the size of its output."""

from __future__ import annotations

import os
import select
import selectors
import signal
import time
from contextlib import suppress
from subprocess import PIPE, Popen, TimeoutExpired
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Enough = Callable[[bytes | bytearray, bytes | bytearray], bool]
    """Return whether an output and errors are all that is wanted."""

MAX_ANSWER = 64 << 20
"""Limit for each output, in bytes: six times the output for 10,000 jobs or nodes."""
_CHUNK = 1 << 16


class TooLongError(Exception):
    """Report a program that was killed because its output exceeded MAX_ANSWER."""


class Ended(NamedTuple):
    """Hold a program's output and exit status: negative for a signal, None after a time-out."""

    status: int | None
    stdout: bytes
    stderr: bytes


def run_bounded(
    argv: Sequence[str],
    data: bytes,
    *,
    timeout: float,
    enough: Enough = lambda *_: False,
    **options: Any,
) -> Ended:
    """Run a program with `data` as its input; kill it after `timeout` seconds. `options` go to Popen.

    Kill it as soon as `enough` is true of its output and errors, which is asked every second at least. With
    `start_new_session`, kill the programs that it has started too.
    Raises OSError if the program cannot be started, and TooLongError if its output is too long.
    """
    until, found = time.monotonic() + timeout, (bytearray(), bytearray())
    with Popen(argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, **options) as process:
        try:
            _exchange(process, data, found, until, enough)
            status = process.wait(max(0, until - time.monotonic()))
        except TimeoutExpired:
            status = None
            _kill(process, group=bool(options.get("start_new_session")))
        except BaseException:
            _kill(process, group=bool(options.get("start_new_session")))
            raise
    return Ended(status, bytes(found[0]), bytes(found[1]))


def _kill(process: Popen[bytes], *, group: bool) -> None:
    if group and process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _exchange(
    process: Popen[bytes],
    data: bytes,
    found: tuple[bytearray, bytearray],
    until: float,
    enough: Enough,
) -> None:
    """Write `data` to a program and read both of its outputs to the end."""
    left = memoryview(data)
    with selectors.DefaultSelector() as selector:
        for stream, into in zip((process.stdout, process.stderr), found, strict=True):
            assert stream is not None
            selector.register(stream, selectors.EVENT_READ, (stream, into))
        assert process.stdin is not None
        if left:
            selector.register(process.stdin, selectors.EVENT_WRITE, (process.stdin, None))
        else:
            process.stdin.close()
        while selector.get_map():
            if (seconds := until - time.monotonic()) <= 0 or enough(*found):
                raise TimeoutExpired(process.args, 0)
            for key, _ in selector.select(min(seconds, 1)):
                stream, into = key.data
                if into is not None:
                    is_open = _read_chunk(key.fd, into)
                else:
                    left = _write_chunk(key.fd, left)
                    is_open = bool(left)
                if not is_open:
                    selector.unregister(stream)
                    stream.close()


def _read_chunk(descriptor: int, found: bytearray) -> bool:
    piece = os.read(descriptor, _CHUNK)
    found += piece
    if len(found) > MAX_ANSWER:
        raise TooLongError
    return bool(piece)


def _write_chunk(descriptor: int, left: memoryview) -> memoryview:
    """Write as much as the pipe accepts at once. Return the rest, nothing if the reader has closed the pipe."""
    try:
        return left[os.write(descriptor, left[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        return left[:0]
