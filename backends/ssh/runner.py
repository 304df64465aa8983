"""Run programs on a login node: the same seam as for this machine, over either transport."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..runner import Completed
from . import errors
from .command_line import outcome, request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .address import Address
    from .command_line import Outcome
    from .transport import Transport

SLACK = 20.0
"""Seconds beyond the time-out there, for the way and for what login profiles do."""
_NOT_FOUND = 127


class SshRunner:
    """Run programs over a transport; see CommandRunner."""

    def __init__(self, address: Address, transport: Transport) -> None:
        self._address = address
        self._transport = transport

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float,
    ) -> Completed:
        """Run a program there to its end; without its end nobody knows what it did."""
        data = (stdin or "").encode(errors="surrogateescape")
        done = self.exchange(argv, stdin=data, env=env, timeout=timeout)
        stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        assert done.status is not None
        if done.status == _NOT_FOUND:
            raise errors.missing(self._address, argv[0])
        return Completed(status=done.status, stdout=stdout, stderr=stderr)

    def exchange(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, timeout: float
    ) -> Outcome:
        """Run a program there, with bytes; UnreachableError unless its end is known."""
        asked = request(argv, stdin, env or {}, timeout)
        done = outcome(asked, *self._transport.exchange(asked.line, asked.stdin, timeout + SLACK))
        if done.status is None:
            raise errors.broken(self._address, argv[0])
        return done
