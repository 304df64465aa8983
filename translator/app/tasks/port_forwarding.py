"""Connect a machine to a port of a task: a user's own by ssh through the login node, or this one."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.registry import SSH, is_remote
from paislurm.backends.ssh.transport import Address, parse_address

from ...errors import Diagnostic, NotFoundError, UsageError
from ...state.parsed import MAX_PORT, parse_int
from ..task_facts import with_places
from .attaching import one_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...monitor.facts import View
    from ...view.task import TaskView, WebPage
    from ..session import Session


NO_NEW_KEYS = ("-o", "UpdateHostKeys=no")
"""Options that keep ssh from adding host keys to known_hosts. Source: ssh_config(5), UpdateHostKeys."""


class PortForward(Struct, frozen=True, kw_only=True):
    """A connection from the user's own machine to a port of a task."""

    name: str
    """The name of the job, `user~job`."""
    job_id: str
    """The id of the Slurm job."""
    task: str
    """The name of the task, `worker-0`."""
    node: str
    """The node of the task."""
    node_address: str
    """The address of the node, as the login node knows it."""
    port: int
    """The port of the task."""
    local_port: int
    """The port on the user's own machine."""
    url: str
    """The URL of the port for a browser."""
    login: str
    """The login node, as `[USER@]HOST[:PORT]`."""
    argv: tuple[str, ...]
    """The ssh command that forwards the port through the login node."""
    argv_by_node: tuple[str, ...]
    """The ssh command that logs in to the node of the task through the login node."""

    @property
    def is_through_login(self) -> bool:
        """Whether this machine is assumed to be the login node."""
        return self.login.rpartition("@")[2] == socket.getfqdn()


def argv_through(login: Address, way: str) -> tuple[str, ...]:
    """Return the ssh command with which the login node connects to the port, without a login to the node."""
    port = ["-p", str(login.port)] if login.port else []
    words = ["ssh", "-N", *NO_NEW_KEYS, "-o", "ExitOnForwardFailure=yes", "-L", way, *port, f"{_at(login)}{login.host}"]
    return tuple(words)


def argv_by_node(login: Address, node: str, way: str) -> tuple[str, ...]:
    """Return the ssh command that logs in to the node, for a task that listens on localhost only."""
    return ("ssh", "-N", *NO_NEW_KEYS, "-J", str(login), "-L", way, f"{_at(login)}{node}")


def _at(login: Address) -> str:
    return f"{login.user}@" if login.user else ""


def bracketed(host: str) -> str:
    """Return a host, in brackets if it is an IPv6 address, for use before `:PORT`."""
    return f"[{host}]" if ":" in host else host


def running_task(view: View, word: str) -> TaskView:
    """Return the place of the task. Raises NotFoundError unless it runs."""
    role, index = one_task(view, word)
    place = next((task for task in with_places(view) if (task.role, task.index) == (role.name, index)), None)
    if place is None or not place.is_running or not place.host:
        message = f"task {role.name}-{index} of {view.folder.name} is not running, so no program listens on its ports"
        raise NotFoundError(Diagnostic(code="E565", message=message, hint=f"see: paislurm status {view.folder.name}"))
    return place


def login_address(session: Session, view: View, word: str | None) -> Address:
    """Return the login node: the user's, else the job's SSH host, else the full name of this machine."""
    if word is not None:
        return parse_address(word)
    if is_remote(view.history.backend):
        return parse_address(view.history.backend.removeprefix(SSH))
    return Address(host=socket.getfqdn(), user=session.user)


def port_of(place: TaskView, word: str, pages: Iterable[WebPage] = ()) -> int:
    """Return a port by its number, its label, or `tensorboard` for the plugin's.

    Raises NotFoundError.
    """
    number = parse_int(word)
    if number is not None:
        if 0 < number <= MAX_PORT:
            return number
    elif place.ports_by_label.get(word):
        return place.ports_by_label[word][0]
    else:
        for page in pages:
            if (page.task, page.title.lower()) == (place.name, word.lower()):
                return page.port
    labels = ", ".join(
        f"{label} ({', '.join(map(str, ports))})" for label, ports in place.ports_by_label.items() if ports
    )
    if number is None:
        message = f"task {place.name} has no port `{word}`"
        hint = f"it has {labels}; give any other port as a number" if labels else "give the number of the port"
    else:
        message = f"`{word}` is not a port: ports are 1 to {MAX_PORT}"
        hint = f"task {place.name} has {labels}" if labels else ""
    raise NotFoundError(Diagnostic(code="E567", message=message, hint=hint))


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
