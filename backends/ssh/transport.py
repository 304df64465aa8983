"""A login node: its address, and the ways to it."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct

from paislurm.translator.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_FORM = re.compile(
    r"(?:(?P<user>[\w.][\w.-]*)@)?(?P<host>[A-Za-z0-9_][\w.-]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?"
)


class Address(Struct, frozen=True, kw_only=True):
    """Name a login node as users write it after `--host`: `alice@login1:2222`, or a name of ~/.ssh/config.

    `user` is "" and `port` None where ~/.ssh/config, or ssh itself, is to say.
    """

    host: str
    user: str = ""
    port: int | None = None

    @property
    def command(self) -> str:
        """Return the command by which a person logs in there."""
        port = f" -p {self.port}" if self.port else ""
        return f"ssh{port} {self.user}@{self.host}" if self.user else f"ssh{port} {self.host}"

    def __str__(self) -> str:
        """Return it as the user writes it."""
        user, port = f"{self.user}@" if self.user else "", f":{self.port}" if self.port else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{user}{host}{port}"


def parse_address(text: str) -> Address:
    """Return the address that a text means; UsageError for anything that ssh could take for an option or a command."""
    found = _FORM.fullmatch(text)
    if found is None or int(found["port"] or 1) not in range(1, 65536):
        message = f"{text!r} is no address of a login node"
        hint = "write HOST, USER@HOST or USER@HOST:PORT, or a name of ~/.ssh/config"
        raise UsageError(Diagnostic(code="E505", message=message, hint=hint))
    port = int(found["port"]) if found["port"] else None
    return Address(host=found["host"].strip("[]"), user=found["user"] or "", port=port)


class Sent(NamedTuple):
    """A file that is to be there: its path here, its path there, and its mode."""

    here: Path
    there: str
    mode: int


class Transport(Protocol):
    """Reach one login node. Every method raises UnreachableError; E55x where nothing was sent."""

    @property
    def name(self) -> str:
        """What users call it: `fabric`, `ssh`."""
        ...

    def exchange(self, line: str, stdin: bytes, timeout: float) -> tuple[bytes, bytes]:
        """Run a line, and return what came from its standard output and error, which may have been cut off.

        Raises TooLongError where more came than any answer has.
        """
        ...

    def put(self, files: Sequence[Sent], timeout: float) -> None:
        """Write files by SFTP into folders that are there."""
        ...

    def attach(self, line: str, *, terminal: bool) -> int:
        """Run a line with the streams of this process, and return its exit status, 255 where the connection broke.

        It may not return: the process can become the program that does it.
        """
        ...


def choose_transport(address: Address, wanted: str) -> Transport:
    """Return a way to a login node: the one that is `wanted`, `fabric` or `ssh`, for `auto` the best that is there.

    That is a connection of the program that is open already, which may have needed a second factor; else the library,
    where it is installed; else the program.
    """
    from .program import ProgramTransport

    if wanted not in ("auto", "fabric", "ssh"):
        message = f"login nodes cannot be reached by {wanted!r}"
        raise UsageError(Diagnostic(code="E505", message=message, hint="PAISLURM_TRANSPORT is auto, fabric or ssh"))
    program = ProgramTransport(address)
    if wanted == "ssh" or (wanted == "auto" and (program.has_master() or find_spec("fabric") is None)):
        return program
    if find_spec("fabric") is None:
        hint = "install `paislurm[ssh]`, or use the ssh program: `transport: ssh` in the site profile"
        raise UsageError(Diagnostic(code="E505", message="fabric is not installed", hint=hint))
    from .fabric_transport import FabricTransport

    return FabricTransport(address)
