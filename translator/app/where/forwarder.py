"""Forward a port of this machine, to which only this machine can connect, to a port of a node."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import Diagnostic, UsageError
from .forwarding import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Callable

    from .forwarding import Forwarding

CHUNK = 1 << 16
CONNECT_SECONDS = 10.0


def forward(wanted: Forwarding, ready: Callable[[], None], say: Callable[[str], None]) -> None:
    """Forward until Ctrl-C. `ready` is called when connections are taken, `say` told of those that fail.

    Raises `UsageError` where the local port cannot be had.
    """
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(wanted, ready, say))


async def _serve(wanted: Forwarding, ready: Callable[[], None], say: Callable[[str], None]) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _connect(wanted, reader, writer)
        except (OSError, asyncio.TimeoutError) as error:
            say(f"{wanted.host}:{wanted.port} does not answer: {_words(error)}")
        finally:
            writer.close()

    try:
        server = await asyncio.start_server(connected, LOOPBACK, wanted.local_port)
    except (OSError, OverflowError) as error:
        message = f"port {wanted.local_port} of this machine cannot be had: {_words(error)}"
        raise UsageError(Diagnostic(code="E568", message=message, hint="choose another one: --local-port")) from None
    async with server:
        ready()
        await server.serve_forever()


async def _connect(wanted: Forwarding, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Join a connection to one of the node, until both directions have ended."""
    there = asyncio.open_connection(wanted.host, wanted.port)
    reader_there, writer_there = await asyncio.wait_for(there, CONNECT_SECONDS)
    try:
        await asyncio.gather(_copy(reader, writer_there), _copy(reader_there, writer))
    finally:
        writer_there.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction to its end, and tell the other side that it has ended."""
    with suppress(OSError):
        while piece := await reader.read(CHUNK):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or "no answer in time"
