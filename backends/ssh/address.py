"""What a user writes after `--host`: `login1`, `alice@login1`, `alice@login1:2222`, or a name of ~/.ssh/config."""

from __future__ import annotations

import re

from msgspec import Struct

from paislurm.translator.errors import Diagnostic, UsageError

_FORM = re.compile(
    r"(?:(?P<user>[\w.][\w.-]*)@)?(?P<host>[A-Za-z0-9_][\w.-]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?"
)


class Address(Struct, frozen=True, kw_only=True):
    """Name a login node; `user` is "" and `port` None where ~/.ssh/config, or ssh itself, is to say."""

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
