"""The way from a user's own machine to a port of a task: through the login node, by ssh. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ...errors import Diagnostic, NotFoundError
from ...state.safe_read import MAX_PORT, parse_int

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paislurm.backends.ssh.transport import Address

    from .task_places import TaskPlace
    from .web_pages import WebPage

LOOPBACK = "127.0.0.1"
NO_NEW_KEYS = ("-o", "UpdateHostKeys=no")
"""A login adds no key of a host to known_hosts. Source: ssh_config(5), UpdateHostKeys."""


class Forwarding(Struct, frozen=True, kw_only=True):
    """Say which port of which task is reached as which port of `localhost`."""

    task: str
    node: str
    host: str
    port: int
    local_port: int

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        return f"http://localhost:{self.local_port}"

    def argv(self, login: Address) -> list[str]:
        """Return the ssh by which the login node connects to the port: the node itself need not let anybody log in."""
        return _ssh(login, f"{self.local_port}:{bracketed(self.host)}:{self.port}")

    def argv_by_node(self, login: Address) -> list[str]:
        """Return the ssh that logs in to the node, where the task listens for its own node alone."""
        jump = ["-J", str(login)]
        user = f"{login.user}@" if login.user else ""
        return [
            "ssh",
            "-N",
            *NO_NEW_KEYS,
            *jump,
            "-L",
            f"{self.local_port}:localhost:{self.port}",
            f"{user}{self.node}",
        ]


def _ssh(login: Address, forward: str) -> list[str]:
    port = ["-p", str(login.port)] if login.port else []
    user = f"{login.user}@" if login.user else ""
    return ["ssh", "-N", *NO_NEW_KEYS, "-o", "ExitOnForwardFailure=yes", "-L", forward, *port, f"{user}{login.host}"]


def bracketed(host: str) -> str:
    """Return a host as it stands before `:` and a port."""
    return f"[{host}]" if ":" in host else host


def port_of(place: TaskPlace, word: str, pages: Iterable[WebPage] = ()) -> int:
    """Return the port that a word means: a number, a label of the task's ports, or `tensorboard` for the plugin's.

    Raises `NotFoundError`.
    """
    number = parse_int(word)
    if number is not None:
        if 0 < number <= MAX_PORT:
            return number
    elif place.ports.get(word):
        return place.ports[word][0]
    else:
        for page in pages:
            if (page.task, page.title.lower()) == (place.name, word.lower()):
                return int(page.url.rpartition(":")[2])
    labels = ", ".join(f"{label} ({', '.join(map(str, ports))})" for label, ports in place.ports.items() if ports)
    if number is None:
        message = f"task {place.name} has no port `{word}`"
        hint = f"it has {labels}; any other port can be given as a number" if labels else "give the number of the port"
    else:
        message = f"`{word}` is no port: ports are 1 to {MAX_PORT}"
        hint = f"task {place.name} has {labels}" if labels else ""
    raise NotFoundError(Diagnostic(code="E567", message=message, hint=hint))
