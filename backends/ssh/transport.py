"""The address of a login node, and the choice of a transport to it."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct

from paislurm.translator.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..bounded_run import Enough

_FORM = re.compile(
    r"(?:(?P<user>[\w.][\w.-]*)@)?(?P<host>[A-Za-z0-9_][\w.-]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?"
)


class Address(Struct, frozen=True, kw_only=True):
    """Hold a login node as users write it after `--host`: `alice@login1:2222`, or a name of ~/.ssh/config.

    If `user` is "" or `port` is None, ssh and ~/.ssh/config decide.
    """

    host: str
    user: str = ""
    port: int | None = None

    @property
    def command(self) -> str:
        """The command with which a person logs in."""
        port = f" -p {self.port}" if self.port else ""
        return f"ssh{port} {self.user}@{self.host}" if self.user else f"ssh{port} {self.host}"

    def __str__(self) -> str:
        """Return the address as users write it."""
        user, port = f"{self.user}@" if self.user else "", f":{self.port}" if self.port else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{user}{host}{port}"


def parse_address(text: str) -> Address:
    """Parse an address. Raises UsageError for any text that ssh could take for an option or a command."""
    found = _FORM.fullmatch(text)
    if found is None or int(found["port"] or 1) not in range(1, 65536):
        message = f"{text!r} is not the address of a login node"
        hint = "write HOST, USER@HOST or USER@HOST:PORT, or a name of ~/.ssh/config"
        raise UsageError(Diagnostic(code="E505", message=message, hint=hint))
    port = int(found["port"]) if found["port"] else None
    return Address(host=found["host"].strip("[]"), user=found["user"] or "", port=port)


class Sent(NamedTuple):
    """A file to send: its local path, its remote path, and its mode."""

    local: Path
    remote: str
    mode: int


class Transport(Protocol):
    """Reach one login node. Every method raises UnreachableError; with a code E55x, nothing was sent."""

    @property
    def name(self) -> str:
        """The name that users choose: `fabric` or `ssh`."""
        ...

    def exchange(self, line: str, stdin: bytes, timeout: float, enough: Enough) -> tuple[bytes, bytes]:
        """Run a line. Return its standard output and standard error, which may be cut off.

        Stop reading when `enough` is true of both. Raises ConnectionError if the connection broke before, and
        TooLongError if either is too long.
        """
        ...

    def put(self, files: Sequence[Sent], timeout: float) -> None:
        """Write files by SFTP into existing folders."""
        ...

    def attach(self, line: str, *, terminal: bool) -> int:
        """Run a line with the streams of this process. Return its exit status, 255 if the connection broke.

        The call may not return: this process may become the program.
        """
        ...


def choose_transport(address: Address, wanted: str) -> Transport:
    """Return the transport `wanted`: `fabric`, `ssh`, or for `auto` the best available one.

    The order is: a connection of the ssh program that is already open (it may have needed a second factor), the
    library if it is installed, the program.
    """
    from .program import ProgramTransport

    if wanted not in ("auto", "fabric", "ssh"):
        message = f"unknown transport {wanted!r}"
        hint = "set PAISLURM_TRANSPORT to auto, fabric or ssh"
        raise UsageError(Diagnostic(code="E505", message=message, hint=hint))
    program = ProgramTransport(address)
    if wanted == "ssh" or (wanted == "auto" and (program.has_master() or find_spec("fabric") is None)):
        return program
    if find_spec("fabric") is None:
        hint = "install `paislurm[ssh]`, or use the ssh program: `transport: ssh` in the site profile"
        raise UsageError(Diagnostic(code="E505", message="fabric is not installed", hint=hint))
    from .fabric_transport import FabricTransport

    return FabricTransport(address)
