"""Run a program to its end, and take no more of what it prints than a bound: an answer of gigabytes is none."""

from __future__ import annotations

import os
import select
import selectors
import time
from subprocess import PIPE, Popen, TimeoutExpired
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_ANSWER = 64 << 20
"""Bytes of an output. An answer about 10,000 jobs or nodes has a sixth of that."""
_CHUNK = 1 << 16


class TooLongError(Exception):
    """Report a program that printed more than any answer has; it was killed."""


class Ended(NamedTuple):
    """Hold what a program printed, and its status: negative for a signal, None where it took too long."""

    status: int | None
    stdout: bytes
    stderr: bytes


def run_bounded(argv: Sequence[str], data: bytes, *, timeout: float, **options: Any) -> Ended:
    """Run a program that reads `data`, and kill it where it takes too long. `options` are those of Popen.

    Raises OSError where it cannot be started, and TooLongError where it prints too much.
    """
    until, found = time.monotonic() + timeout, (bytearray(), bytearray())
    with Popen(argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, **options) as process:
        try:
            _exchange(process, data, found, until)
            status = process.wait(max(0, until - time.monotonic()))
        except TimeoutExpired:
            status = None
            process.kill()
        except BaseException:
            process.kill()
            raise
    return Ended(status, bytes(found[0]), bytes(found[1]))


def _exchange(process: Popen[bytes], data: bytes, found: tuple[bytearray, bytearray], until: float) -> None:
    """Write `data` to a program and read both outputs to their ends."""
    left = memoryview(data)
    with selectors.DefaultSelector() as selector:
        for stream, into in zip((process.stdout, process.stderr), found, strict=True):
            assert stream is not None
            selector.register(stream, selectors.EVENT_READ, into)
        assert process.stdin is not None
        if left:
            selector.register(process.stdin, selectors.EVENT_WRITE)
        else:
            process.stdin.close()
        while selector.get_map():
            if (seconds := until - time.monotonic()) <= 0:
                raise TimeoutExpired(process.args, 0)
            for key, _ in selector.select(seconds):
                if key.data is not None:
                    goes_on = _take(key.fd, key.data)
                else:
                    left = _give(key.fd, left)
                    goes_on = bool(left)
                if not goes_on:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]


def _take(descriptor: int, found: bytearray) -> bool:
    piece = os.read(descriptor, _CHUNK)
    found += piece
    if len(found) > MAX_ANSWER:
        raise TooLongError
    return bool(piece)


def _give(descriptor: int, left: memoryview) -> memoryview:
    """Write as much as a pipe takes at once; return what is left, nothing where nobody reads it."""
    try:
        return left[os.write(descriptor, left[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        return left[:0]
