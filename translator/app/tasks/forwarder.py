"""Forward a port of this machine, open only to this machine, to a port of a node."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .port_forward import PortForward

LOOPBACK = "127.0.0.1"
CHUNK = 1 << 16
CONNECT_SECONDS = 10.0


def forward(wanted: PortForward, ready: Callable[[], None], say: Callable[[str], None]) -> None:
    """Forward until Ctrl-C. `ready` is called when the port is open, `say` with each failed connection.

    Raises UsageError if the local port is not available.
    """
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(wanted, ready, say))


async def _serve(wanted: PortForward, ready: Callable[[], None], say: Callable[[str], None]) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _connect(wanted, reader, writer)
        except (OSError, asyncio.TimeoutError) as error:
            say(f"{wanted.node_address}:{wanted.port} does not answer: {_words(error)}")
        finally:
            writer.close()

    try:
        server = await asyncio.start_server(connected, LOOPBACK, wanted.local_port)
    except (OSError, OverflowError) as error:
        message = f"cannot open port {wanted.local_port} on this machine: {_words(error)}"
        raise UsageError(
            Diagnostic(code="E568", message=message, hint="choose another one with --local-port")
        ) from None
    async with server:
        ready()
        await server.serve_forever()


async def _connect(wanted: PortForward, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Connect a client to the node until both directions have ended."""
    remote = asyncio.open_connection(wanted.node_address, wanted.port)
    remote_reader, remote_writer = await asyncio.wait_for(remote, CONNECT_SECONDS)
    try:
        await asyncio.gather(_copy(reader, remote_writer), _copy(remote_reader, writer))
    finally:
        remote_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction to its end, and close it on the other side."""
    with suppress(OSError):
        while piece := await reader.read(CHUNK):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or "no answer in time"
